"""Who may use the devices: players (a job's rank 0 each) ask by a Unix socket, one at a time gets a turn, and hands it on between
the blocks of a part. So two jobs that share devices are timed in turns, and neither works while the other is measured.

A turn is given only when nobody of the group is on the move (starting, or between two parts): to the player who is behind in the
list of parts, among equals to the one after the last. Groups follow one another. Whatever a player reported before it died is kept.

Server: Turns, polled by the program that started the players. Client: Client, blocking. One line of JSON a message."""
import json
import os
import selectors
import socket
import time

STARTING, MOVING, WAITING, HOLDING, LEFT = "starting", "moving", "waiting", "holding", "left"


class Player:
    def __init__(self, name, group, parts):
        self.name, self.group, self.parts = name, group, list(parts)  # parts: names, in order, not done yet
        self.state, self.since = STARTING, time.monotonic()
        self.part, self.held, self.turns = None, 0.0, 0  # of the part at hand: seconds and turns so far
        self.connection, self.buffer = None, b""

    def become(self, state):
        now = time.monotonic()
        if self.state == HOLDING:
            self.held += now - self.since
        self.state, self.since = state, now

    def seconds(self):
        """How long it has been as it is; of a turn: with the earlier turns of the same part."""
        return time.monotonic() - self.since + (self.held if self.state == HOLDING else 0)

    def behind(self):
        return -len(self.parts)


class Turns:
    def __init__(self, path, time_left):
        """time_left(): seconds until no further part may begin."""
        self.path, self.time_left = path, time_left
        self.players, self.last = [], None
        self.reports = []  # (player's name, message "done"), not taken yet
        self.selector = selectors.DefaultSelector()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        self.selector.register(self.listener, selectors.EVENT_READ, None)

    def close(self):
        for player in self.players:
            self.drop(player)
        self.selector.close()
        self.listener.close()
        os.unlink(self.path)

    def add(self, name, group, parts):
        """A player that is being started; one of the same name that left is replaced."""
        self.players = [player for player in self.players if player.name != name] + [Player(name, group, parts)]
        self.players.sort(key=lambda player: player.name)

    def player(self, name):
        return next(player for player in self.players if player.name == name)

    def leave(self, name):
        """Its process has ended. What it was doing is the caller's to ask before."""
        self.drop(self.player(name))
        self.player(name).become(LEFT)
        self.give()

    def drop(self, player):
        if player.connection is not None:
            self.selector.unregister(player.connection)
            player.connection.close()
            player.connection = None

    def poll(self, seconds):
        for key, _ in self.selector.select(seconds):
            if key.fileobj is self.listener:
                connection, _ = self.listener.accept()
                self.selector.register(connection, selectors.EVENT_READ, {"buffer": b"", "player": None})
            else:
                self.read(key.fileobj, key.data)
        self.give()

    def read(self, connection, data):
        try:
            received = connection.recv(1 << 16)
        except ConnectionError:
            received = b""
        if not received:  # the caller sees the process end, and says leave()
            self.selector.unregister(connection)
            connection.close()
            if data["player"]:
                data["player"].connection = None
            return
        data["buffer"] += received
        while b"\n" in data["buffer"]:
            line, data["buffer"] = data["buffer"].split(b"\n", 1)
            self.handle(json.loads(line), connection, data)

    def handle(self, message, connection, data):
        if message["do"] == "hello":
            data["player"] = self.player(message["name"])
            data["player"].connection = connection
            data["player"].become(MOVING)
            return
        player = data["player"]
        if message["do"] == "want":
            player.part, player.held, player.turns = message["part"], 0.0, 0
            player.become(WAITING)
        elif message["do"] == "pass":
            player.become(WAITING)
        elif message["do"] == "done":
            player.become(MOVING)
            message["seconds"] = player.held
            player.part = None
            player.parts.remove(message["part"])
            self.reports.append((player.name, message))

    def next_player(self):
        """Whose turn it is, or None while that is open."""
        present = [player for player in self.players if player.state != LEFT]
        group = [player for player in present if player.group == min(p.group for p in present)]
        if not group or any(player.state != WAITING for player in group):
            return None
        most_behind = min(player.behind() for player in group)
        equals = [player for player in group if player.behind() == most_behind]
        names = [player.name for player in equals]
        after = names.index(self.last) + 1 if self.last in names else 0
        return equals[after % len(equals)]

    def give(self):
        player = self.next_player()
        if player is None or player.connection is None:
            return
        if player.turns == 0 and self.time_left() <= 0:
            player.become(MOVING)
            self.answer(player, {"go": False, "why": "the time is used up"})
            return
        player.turns += 1
        self.last = player.name
        player.become(HOLDING)
        self.answer(player, {"go": True})

    def answer(self, player, message):
        try:
            player.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            pass  # gone; its process will be seen to end


class Client:
    def __init__(self, path, name):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("r")
        self.send({"do": "hello", "name": name})

    def send(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def answer(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("the program that gives turns is gone")
        return json.loads(line)

    def want(self, part):
        """Waits for the first turn of a part. {"go": bool, "why": text}"""
        self.send({"do": "want", "part": part})
        return self.answer()

    def hand_on(self, part):
        """Lets the other one have a turn, and waits for the next of one's own."""
        self.send({"do": "pass", "part": part})
        return self.answer()

    def done(self, part, **report):
        self.send({"do": "done", "part": part, **report})
