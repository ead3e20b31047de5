import { expect, test } from "vitest"

import { seatbeltLimits } from "./sandbox-state.ts"

test("the state names what the sandbox of macOS lacks", () => {
  expect(seatbeltLimits(true, "linux")).toBe("")
  expect(seatbeltLimits(true, "darwin")).toMatch(
    /^; on macOS, Unix sockets stay open unless .*Keychain.*process group/u,
  )
  expect(seatbeltLimits("list", "darwin")).not.toContain("Unix sockets")
})
