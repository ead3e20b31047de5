import { expect, test } from "vitest"

import { sshArguments } from "./ssh-workspace.ts"

const SHARED = [
  "-T -o ControlMaster=auto -o ControlPath=/tmp/hermes-ssh/0123456789abcdef.sock -o ControlPersist=300 -o BatchMode=yes",
  "-o StrictHostKeyChecking=accept-new -o ConnectTimeout=10 -o ServerAliveInterval=15",
].join(" ")

test.each([
  [{ port: 22, keyFile: "" }, SHARED],
  [{ port: 2222, keyFile: "/k" }, `${SHARED} -p 2222 -i /k`],
])("the options of ssh for %o", (changes, expected) => {
  const words = sshArguments({ host: "box", user: "me", ...changes }, "/tmp/hermes-ssh")
  const withoutSocket = (text: string): string => text.replace(/[0-9a-f]{16}\.sock/, "S")
  expect(withoutSocket(words.join(" "))).toBe(withoutSocket(expected))
})

test("each account, host and port has a socket of its own", () => {
  const socket = (user: string, host: string, port: number): string | undefined =>
    sshArguments({ user, host, port, keyFile: "" }, "/s").find((word) => word.startsWith("ControlPath="))
  expect(new Set([socket("a", "h", 22), socket("b", "h", 22), socket("a", "i", 22), socket("a", "h", 23)]).size).toBe(4)
})
