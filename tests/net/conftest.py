"""What holds for all tests here."""

import signal

# nohup, and a shell without job control for what it runs in the background, leave SIGINT ignored, which the programs under
# test must obey. A child inherits "ignored", but no handler.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
signal.pthread_sigmask(signal.SIG_SETMASK, [])
