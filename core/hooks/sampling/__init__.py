"""Sampling: what an agent's answer is worth. Pure: `answers.py` reads one, `checks.py` and `judging.py` judge one."""
