import { expect, test } from "vitest"

import { sshArguments } from "./ssh-workspace.ts"

const DEFAULTS = { host: "box", user: "me", port: 22, keyFile: "" }

test("a port and a key file are passed to ssh only when they are set", () => {
  const defaults = sshArguments(DEFAULTS, "/tmp/hermes-ssh")
  const custom = sshArguments({ ...DEFAULTS, port: 2222, keyFile: "/k" }, "/tmp/hermes-ssh")
  expect(defaults.filter((word) => word === "-p" || word === "-i")).toEqual([])
  expect(custom.slice(defaults.length)).toEqual(["-p", "2222", "-i", "/k"])
})

test("each account, host and port has its own control socket", () => {
  const socket = (user: string, host: string, port: number): string | undefined =>
    sshArguments({ user, host, port, keyFile: "" }, "/s").find((word) => word.startsWith("ControlPath="))
  expect(new Set([socket("a", "h", 22), socket("b", "h", 22), socket("a", "i", 22), socket("a", "h", 23)]).size).toBe(4)
})
