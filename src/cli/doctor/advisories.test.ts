import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { environmentFrom } from "../../config/environment.ts"
import { createTestHome, recordedTerminal, type TestHome } from "../../../test/support/command-run.ts"
import { loadSettings } from "../settings-access.ts"
import { acknowledge, advisoriesSection } from "./advisories.ts"
import type { DoctorContext } from "./finding.ts"

const ADVISORIES = [{ id: "H-1", text: "a weakness", fix: "update" }]

async function contextOf({ home, variables }: TestHome): Promise<DoctorContext> {
  const settings = await loadSettings({ home, environment: environmentFrom(variables) })
  return { home, settings, terminal: recordedTerminal(), signal: new AbortController().signal }
}

test("an advisory is shown until it is acknowledged", async () => {
  using home = createTestHome()
  const section = advisoriesSection(ADVISORIES)
  const context = await contextOf(home)
  expect(await section.check(context)).toEqual([
    { level: "warning", text: "H-1: a weakness", fix: "update; then hermes doctor --ack H-1" },
  ])
  await acknowledge("H-1", { ...context, advisories: ADVISORIES })
  expect(readFileSync(home.home.file("config.yaml"), "utf8")).toContain("H-1")
  expect(await section.check(await contextOf(home))).toEqual([{ level: "ok", text: "none" }])
})
