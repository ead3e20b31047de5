import { PassThrough } from "node:stream"

import { expect, test } from "vitest"

import { openRawKeys } from "./raw-keys.ts"

test("many questions, one after the other, leave one listener for a terminal that closes later", () => {
  const input = new PassThrough()
  const none = (): void => undefined
  for (let count = 0; count < 20; count += 1)
    openRawKeys({ input, write: none, key: none, paste: none, resumed: none, ended: none }).close()
  expect(input.listenerCount("error")).toBe(1)
  expect(() => input.emit("error", new Error("EIO"))).not.toThrow()
})
