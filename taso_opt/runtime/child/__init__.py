"""What runs in the child process and is imported there alone: the runtimes, and how models are timed in them."""
