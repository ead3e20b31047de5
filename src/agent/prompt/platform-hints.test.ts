import { expect, test } from "vitest"

import { platformHint } from "./platform-hints.ts"

test.each(["telegram", "whatsapp", "signal", "discord", "slack", "matrix", "email", "webui"])(
  "on %s the model learns how to send files",
  (platform) => {
    expect(platformHint(platform)).toContain("MEDIA:/absolute/path")
  },
)

test.each(["cli", "sms"])("on %s the model learns that it cannot send files", (platform) => {
  expect(platformHint(platform)).toMatch(/cannot be (?:attached|sent)/u)
})

test("on a schedule the model must not ask", () => {
  expect(platformHint("cron")).toContain("ask nothing")
})

test("a platform without a hint has none", () => {
  expect([platformHint("toString"), platformHint("other")]).toEqual(["", ""])
})
