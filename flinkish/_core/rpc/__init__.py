"""The work of RPC for each message.

Owns: frames and records of a connection, buffers of what is to be sent, inboxes and their turns,
futures.
Uses: ``memory``, ``wheel``.
Must not: open a socket, or log: ``flinkish.rpc`` does.
"""
