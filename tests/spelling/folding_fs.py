"""A file system in memory that finds a file by its name in any case, as NTFS and APFS do: FUSE's protocol, as include/uapi/linux/fuse.h
of Linux has it, as far as reading and writing small files needs it."""

import ctypes
import errno
import os
import stat
import struct
import threading

LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, UNLINK, RMDIR, OPEN, READ, WRITE, STATFS, RELEASE = 1, 2, 3, 4, 9, 10, 11, 14, 15, 16, 17, 18
INIT, OPENDIR, READDIR, CREATE, BATCH_FORGET = 26, 27, 28, 35, 42
# fsync, flush, releasedir, fsyncdir, access
NOTHING_TO_DO = (RELEASE, 20, 25, 29, 30, 34)


class FoldingFs:
    """A tree of nodes: a directory is a dict from names to numbers, a file a bytearray."""

    def __init__(self):
        self.nodes = {1: {}}

    def add(self, parent, name, content=None):
        number = max(self.nodes) + 1
        self.nodes[number] = {} if content is None else bytearray(content)
        self.nodes[parent][name] = number
        return number

    def mount(self, path):
        fuse = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={fuse},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"folding", path.encode(), b"fuse", 0, options.encode()):
            raise OSError(ctypes.get_errno(), "mount")
        threading.Thread(target=self.serve, args=(fuse,), daemon=True).start()

    def serve(self, fuse):
        while True:
            try:
                request = os.read(fuse, 1 << 18)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                return
            _, operation, unique, node = struct.unpack_from("<IIQQ", request)
            if operation in (FORGET, BATCH_FORGET):
                continue
            try:
                answer, failure = self.answer(operation, node, request[40:]), 0
            except OSError as error:
                answer, failure = b"", -error.errno
            try:
                os.write(fuse, struct.pack("<IiQ", 16 + len(answer), failure, unique) + answer)
            except OSError:
                pass

    def found(self, parent, name):
        for own, number in self.nodes[parent].items():
            if own.lower() == name.lower():
                return own, number
        raise OSError(errno.ENOENT, "")

    def attributes(self, node):
        content = self.nodes[node]
        is_dir = isinstance(content, dict)
        mode = (stat.S_IFDIR | 0o755) if is_dir else (stat.S_IFREG | 0o644)
        size = 0 if is_dir else len(content)
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, 1, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)

    def entry(self, node):
        return struct.pack("<QQQQII", node, 0, 1, 1, 0, 0) + self.attributes(node)

    def answer(self, operation, node, body):
        name = lambda start: body[start:].split(b"\0")[0].decode()
        if operation == INIT:
            return struct.pack("<IIIIHHIIHHI", 7, 31, 65536, 0, 12, 10, 65536, 1, 32, 0, 0) + bytes(24)
        if operation == LOOKUP:
            return self.entry(self.found(node, name(0))[1])
        if operation in (GETATTR, SETATTR):
            valid, _, _, size = struct.unpack_from("<IIQQ", body) if operation == SETATTR else (0, 0, 0, 0)
            if valid & 8:
                del self.nodes[node][size:]
            return struct.pack("<QII", 1, 0, 0) + self.attributes(node)
        if operation in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, 1 if operation == OPEN else 0, 0)
        if operation == READ:
            _, start, size = struct.unpack_from("<QQI", body)
            return bytes(self.nodes[node][start : start + size])
        if operation == WRITE:
            _, start, size = struct.unpack_from("<QQI", body)
            self.nodes[node][start : start + size] = body[40 : 40 + size]
            return struct.pack("<II", size, 0)
        if operation == READDIR:
            return self.listing(node, *struct.unpack_from("<QQI", body)[1:])
        if operation in (CREATE, MKDIR):
            made = self.add(node, name(16 if operation == CREATE else 8), b"" if operation == CREATE else None)
            return self.entry(made) + (struct.pack("<QII", 0, 1, 0) if operation == CREATE else b"")
        if operation in (UNLINK, RMDIR):
            del self.nodes[node][self.found(node, name(0))[0]]
            return b""
        if operation == STATFS:
            return struct.pack("<QQQQQIIII", 1 << 20, 1 << 19, 1 << 19, 1 << 20, 1 << 19, 4096, 255, 4096, 0) + bytes(24)
        if operation in NOTHING_TO_DO:
            return b""
        raise OSError(errno.ENOSYS, "")

    def listing(self, node, start, room):
        listed = b""
        for at, (name, number) in list(enumerate(self.nodes[node].items()))[start:]:
            kind = 4 if isinstance(self.nodes[number], dict) else 8
            one = struct.pack("<QQII", number, at + 1, len(name), kind) + name.encode()
            one += bytes(-len(one) % 8)
            if len(listed) + len(one) > room:
                break
            listed += one
        return listed
