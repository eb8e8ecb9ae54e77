"""`make resume`: a build of the book that is killed at random moments ends with the bytes of an undisturbed one."""

import os
import random
import signal
import subprocess
import time

from trials.same import CIRCUMSTANCES, checkout, differences, finish, record, start


def resumed_bytes(profile: str, kills: int, seed: int) -> list[str]:
    """Build once undisturbed and once killed `kills` times at random moments; returns what differs at the end.

    Three kills of four take everything with them, as a crash does; each fourth one only the workflow itself, whose
    workers have to notice. Raises WorkflowError when a build fails.
    """
    moments, settings = random.Random(seed), CIRCUMSTANCES["a"]
    whole, killed = checkout("undisturbed"), checkout("killed")
    began = time.perf_counter()
    finish(whole, profile, settings)
    seconds = time.perf_counter() - began
    struck = 0
    for number in range(kills):
        process = start(killed, profile, settings)
        try:
            process.wait(moments.uniform(0, seconds / 3))
        except subprocess.TimeoutExpired:
            struck += 1
            if number % 4 == 3:
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    finish(killed, profile, settings)
    found = differences(whole, killed, profile)
    about = {"kills": kills, "while_running": struck, "seed": seed, "seconds_undisturbed": round(seconds)}
    record("resume", about | {"different": len(found)})
    return found
