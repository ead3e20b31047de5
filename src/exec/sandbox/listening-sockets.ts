import { readFileSync } from "node:fs"

/**
 * Finds the paths of the Unix sockets that programs on this machine have opened. A seccomp filter cannot tell one socket from another, so where
 * commands may use some, the others are hidden by name. Sockets without a path belong to the network. Empty on a system without /proc.
 */
export function listeningSockets(): readonly string[] {
  let table: string
  try {
    table = readFileSync("/proc/net/unix", "utf8")
  } catch {
    // This system has no /proc.
    return []
  }
  const paths = table.split("\n").flatMap((line) => SOCKET.exec(line)?.groups?.["path"] ?? [])
  return [...new Set(paths)]
}

/** Address, references, protocol, flags, type, state, inode, and the path of a socket that has one. */
const SOCKET = /^[0-9a-f]+:(?: +[0-9A-Fa-f]+){6} (?<path>\/.*)$/u
