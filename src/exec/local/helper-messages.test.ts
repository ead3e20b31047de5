import { expect, test } from "vitest"

import { openFilePrefix } from "../open-file-prefix.ts"
import { createHelperMessages } from "./helper-messages.ts"

test("only what differs from the process before is sent", () => {
  const messageOf = createHelperMessages()
  const [program, ...args] = [...openFilePrefix("/filter"), "/usr/bin/bwrap", "--", "bash"] as const
  // The caller's object has the id of the command too.
  const request = (id: string, cwd = "/") => ({
    commandId: id,
    program,
    args,
    cwd,
    environment: { HOME: "/home/user", HERMES_COMMAND: id },
  })
  const common = {
    commandLine: ["/usr/bin/bwrap", "--", "bash"],
    openFile: "/filter",
    cwd: "/",
    environment: { HOME: "/home/user" },
  }
  expect(messageOf(request("one"))).toEqual({ own: { HERMES_COMMAND: "one" }, common })
  expect(messageOf(request("two"))).toEqual({ own: { HERMES_COMMAND: "two" } })
  expect(messageOf(request("three", "/tmp"))).toEqual({
    own: { HERMES_COMMAND: "three" },
    common: { ...common, cwd: "/tmp" },
  })
  expect(messageOf(request("four", "/tmp"))).toEqual({ own: { HERMES_COMMAND: "four" } })
})
