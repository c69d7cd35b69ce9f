"""Parts of what draws and checks the documentation: its pages, sample reports, pictures of a terminal."""
