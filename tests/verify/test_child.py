"""The proving process is stopped by the time that it works, not by the time that passes."""

import os
import signal
import threading

import pytest

from taso_opt.spec.text import parse_rule
from taso_opt.verify.processes.child import Child, Stopped
from taso_opt.verify.processes.worker import Examine
from taso_opt.verify.verdict import Proved

TEXT = "Relu(Relu(x)) = Relu(x) where x[*a]"


@pytest.fixture
def question(library):
    return Examine(parse_rule(TEXT, library.builder()))


def test_a_child_that_has_used_up_its_time_is_stopped_and_another_one_answers(question):
    with Child(time_limit_s=0.01) as child:
        with pytest.raises(Stopped, match=r"stopped after 0\.01 s"):
            child.ask(question)
        child._time_limit_s = 60.0
        assert isinstance(child.ask(question), Proved)


def test_a_child_that_has_to_wait_for_the_processor_is_not_stopped(question):
    with Child(time_limit_s=60.0) as child:
        child.ask(question)  # the process is there, with all that it has to load
        child._time_limit_s = 0.5
        os.kill(child._process.pid, signal.SIGSTOP)
        wake = threading.Timer(1.5, os.kill, (child._process.pid, signal.SIGCONT))
        wake.start()
        assert isinstance(child.ask(question), Proved)
        wake.join()


def test_a_child_that_never_gets_on_is_stopped(question):
    with Child(time_limit_s=60.0) as child:
        child.ask(question)
        child._time_limit_s = 0.02
        os.kill(child._process.pid, signal.SIGSTOP)
        with pytest.raises(Stopped):
            child.ask(question)


def test_a_child_that_is_killed_meanwhile_is_told(question):
    with Child(time_limit_s=60.0) as child:
        child.ask(question)
        os.kill(child._process.pid, signal.SIGKILL)
        with pytest.raises(Stopped, match="died"):
            child.ask(question)
