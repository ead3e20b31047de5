import { expect, test } from "vitest"

import { createPermissions } from "./permissions.ts"
import { platformOf, sessionIdKind, sourceOf } from "./origin.ts"
import type { Origin } from "./origin.ts"

const from = (origin: Omit<Origin, "attended">): readonly string[] => {
  const full = { ...origin, attended: () => true }
  return [sourceOf(full), platformOf(full), sessionIdKind(full)]
}

test("source, platform and the kind of session id follow from the surface", () => {
  expect(from({ surface: "cli" })).toEqual(["cli", "cli", "terminal"])
  expect(from({ surface: "cli", source: "my-script" })).toEqual(["my-script", "cli", "terminal"])
  expect(from({ surface: "gateway", platform: "telegram" })).toEqual(["telegram", "telegram", "gateway"])
  expect(from({ surface: "background", platform: "cron" })).toEqual(["cron", "cron", "background"])
})

test("attendance and profile are read when they are needed, and grants survive a change", () => {
  let isAttended = true
  const permissions = createPermissions({
    profile: "default",
    origin: { attended: () => isAttended },
    headless: "deny",
    askTimeoutMs: 0,
  })
  permissions.grant("digest of a call")
  isAttended = false
  permissions.setProfile("plan")
  expect([permissions.attended(), permissions.profile, permissions.rules().profile.default]).toEqual([
    false,
    "plan",
    "plan",
  ])
  expect([permissions.isGranted("digest of a call"), permissions.setProfile("none"), permissions.profile]).toEqual([
    true,
    false,
    "plan",
  ])
})
