"""Picks the inputs that are worth keeping: few and small ones that together reach the most.

usage: keep.py CONTROL_FILE MOST DIRECTORY

The control file is what libFuzzer writes while it merges (-merge=1 -merge_control_file=F): the inputs' names, and after
each `FT` the features that an input reaches. Copies of the picked ones go to the directory, named by their contents.
"""

import hashlib
import pathlib
import sys


def read(control):
    """The inputs of a control file, with what each one reaches."""
    lines = pathlib.Path(control).read_text().splitlines()
    count = int(lines[0])
    names = lines[2 : 2 + count]
    reached = {}
    for line in lines[2 + count :]:
        word, *numbers = line.split()
        if word == "FT":
            reached[names[int(numbers[0])]] = set(map(int, numbers[1:]))
    return reached


def pick(reached, most):
    """Inputs in the order in which each adds most to those before, small ones first where they add alike."""
    left = dict(reached)
    while left and most:
        size = {name: pathlib.Path(name).stat().st_size for name in left}
        best = max(left, key=lambda name: (len(left[name]), -size[name]))
        new = left.pop(best)
        if not new:
            return
        yield best
        left = {name: features - new for name, features in left.items()}
        most -= 1


def main(control, most, directory):
    for name in pick(read(control), int(most)):
        content = pathlib.Path(name).read_bytes()
        to = pathlib.Path(directory, hashlib.sha1(content).hexdigest()[:16])
        to.write_bytes(content)


main(*sys.argv[1:])
