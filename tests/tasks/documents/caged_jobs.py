"""Functions that the cage's tests run in its workers. Each one misbehaves in its own way."""

import ctypes
import os
import sys
import time
from pathlib import Path

from tasks.documents.cage_worker import Pages
from tasks.errors import DocumentError


def double(number, pages: Pages):
    return number * 2


def process_id(pages: Pages):
    return os.getpid()


def loop(pages: Pages):
    while True:
        pass


def spin_in_c(pages: Pages):
    """Holds the interpreter's lock inside C for ten minutes: no Python signal handler or thread runs."""
    ctypes.PyDLL(None).sleep(600)


def say_and_spin(folder, pages: Pages):
    (Path(folder) / str(os.getpid())).touch()
    spin_in_c(pages)


def memory_bomb(pages: Pages):
    hoard = []
    while True:
        hoard.append(bytearray(32 * 2**20))


def kill_self(number, pages: Pages):
    os.kill(os.getpid(), number)
    time.sleep(60)


def leave(status, pages: Pages):
    sys.exit(status)


def leave_at_once(status, pages: Pages):
    os._exit(status)


def raise_value_error(pages: Pages):
    raise ValueError("the secret of the document")


def raise_document_error(pages: Pages):
    raise DocumentError("encrypted", "needs a password", remedy="give it", transient=False)


def read_pages(count, hang_on, pages: Pages):
    read = []
    for page in range(1, count + 1):
        if not pages.enter(page):
            continue
        if page in hang_on:
            spin_in_c(pages)
        read.append(page)
    pages.done()
    return read


def recognize_pages(count, seconds, times, pages: Pages):
    """Works so long on each page, and says so often that it is read by OCR."""
    for page in range(1, count + 1):
        pages.enter(page)
        for _ in range(times):
            pages.extend()
        time.sleep(seconds)
    pages.done()
    return count


def refuse_memory(message, pages: Pages):
    raise RuntimeError(message)


def modules(pages: Pages):
    return sorted(sys.modules)


def allocate(mebibytes, pages: Pages):
    block = bytearray(mebibytes * 2**20)
    for i in range(0, len(block), 4096):
        block[i] = 1
    return len(block)


def write_to_all_channels(pages: Pages):
    sys.stdout.write("document text")
    sys.stdout.flush()
    sys.stderr.write("document text")
    os.write(2, b"document text")
    return True


def huge_answer(pages: Pages):
    return "x" * (257 * 2**20)
