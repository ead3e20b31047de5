import { expect, test } from "vitest"

import { createPermissions } from "../agent/permissions.ts"
import type { SlashContext } from "./slash-command.ts"
import { runSlashCommand } from "./slash-table.ts"

function conversation(profile = "default") {
  const permissions = createPermissions({
    profile,
    origin: { attended: () => true },
    headless: "deny",
    askTimeoutMs: 0,
  })
  const session = {
    get facts() {
      return { permissionProfile: permissions.profile }
    },
    permissions,
    setPermissionProfile: (name: string) => permissions.setProfile(name),
  }
  const context = { session, running: false } as unknown as SlashContext
  return async (line: string): Promise<string> => {
    const outcome = await runSlashCommand(line, context)
    return outcome.kind === "reply" ? outcome.text : outcome.kind
  }
}

test("/permissions shows, changes and resets the rules of the session", async () => {
  const run = conversation()
  expect(await run("/permissions")).toBe(
    "Permission profile: default (there are plan, default, accept-edits, auto, full-auto)\nThere are no rules.",
  )
  expect(await run("/permissions deny terminal:git push*")).toBe("deny terminal:git push*, until this session ends.")
  expect(await run("/permissions accept-edits")).toMatch(/^Permission profile: accept-edits\./)
  expect(await run("/permissions")).toMatch(/accept-edits [^]*\n {2}deny {3}terminal:git push\* {2}\(this session\)$/)
  expect(await run("/permissions reset")).toMatch(/Permission profile: default\.$/)
  expect(await run("/permissions")).toMatch(/There are no rules\.$/)
})

test.each([
  ["/permissions bogus", /^Unknown permission profile "bogus"\. Use one of: plan, default/],
  ["/permissions allow", /^Usage: \/permissions allow PATTERN/],
  ["/permissions allow teminal:x", /did you mean `terminal`\?$/],
])("%s explains the mistake", async (line, message) => {
  expect(await conversation()(line)).toMatch(message)
})

test("/yolo off never switches everything on, and unknown words do nothing", async () => {
  const run = conversation()
  expect([await run("/yolo off"), await run("/yolo status"), await run("/yolo on"), await run("/yolo on")]).toEqual([
    "Permission profile: default.",
    "Usage: /yolo [on | off]. Permission profile: default.",
    "Permission profile: full-auto.",
    "Permission profile: full-auto.",
  ])
  expect(await run("/stop the server")).toBe("/stop takes no argument, so nothing was done. Type /stop alone.")
})

test("/yolo returns to the profile that was chosen in the session", async () => {
  const run = conversation()
  await run("/permissions accept-edits")
  expect([await run("/yolo"), await run("/yolo")]).toEqual([
    "Permission profile: full-auto.",
    "Permission profile: accept-edits.",
  ])
})

test.each([
  ["default", "full-auto", "default"],
  ["accept-edits", "full-auto", "accept-edits"],
  ["full-auto", "default", "full-auto"],
])("/yolo in %s switches to %s and back to %s", async (profile, first, second) => {
  const run = conversation(profile)
  expect([await run("/yolo"), await run("/yolo")]).toEqual([
    `Permission profile: ${first}.`,
    `Permission profile: ${second}.`,
  ])
})
