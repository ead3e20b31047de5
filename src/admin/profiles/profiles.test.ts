import { existsSync, readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { createTestHomeContext } from "../../../test/support/home-context.ts"
import { DEFAULT_IDENTITY } from "../../agent/prompt/build-prompt.ts"
import { deleteIdleProfile, renameIdleProfile } from "./change-profile.ts"
import { createProfileWithDefaultSoul } from "./create-profile.ts"

test("a new profile has the default identity", async () => {
  using context = createTestHomeContext()
  const options = { name: "coder", clone: "nothing", alias: false, skills: true, commands: [] } as const
  expect(await createProfileWithDefaultSoul(context, options)).toMatchObject({ ok: true })
  expect(readFileSync(context.home.file("profiles", "coder", "SOUL.md"), "utf8")).toBe(`${DEFAULT_IDENTITY}\n`)
  expect(await createProfileWithDefaultSoul(context, { ...options, name: "Bad Name" })).toMatchObject({
    ok: false,
    error: { kind: "invalid" },
  })
})

test("a profile is renamed and deleted, but not while its gateway runs", async () => {
  using context = createTestHomeContext({
    "profiles/bot/gateway.pid": JSON.stringify({ pid: process.pid }),
    "profiles/idle/config.yaml": "",
  })
  const refused = {
    ok: false,
    error: {
      kind: "failed",
      message: `A gateway is running for ~/.hermes/profiles/bot (process ${process.pid}). Stop it first: \`kill ${process.pid}\``,
    },
  }
  expect(await renameIdleProfile(context, { from: "bot", to: "other" }, { commands: [] })).toEqual(refused)
  expect(await deleteIdleProfile(context, "bot")).toEqual(refused)
  expect(existsSync(context.home.file("profiles", "bot"))).toBe(true)
  expect(await renameIdleProfile(context, { from: "idle", to: "done" }, { commands: [] })).toMatchObject({ ok: true })
  expect(await deleteIdleProfile(context, "done")).toEqual({ ok: true, value: "done" })
})
