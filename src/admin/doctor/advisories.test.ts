import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { createTestHomeContext, type TestHomeContext } from "../../../test/support/home-context.ts"
import { loadHome } from "../loaded-home.ts"
import { acknowledgeAdvisory, advisoriesSection } from "./advisories.ts"
import type { Finding } from "./finding.ts"

const advisories = [{ id: "H-1", text: "a weakness", fix: "update" }]

async function findings(context: TestHomeContext): Promise<readonly Finding[]> {
  return await advisoriesSection(advisories).check({
    ...(await loadHome(context)),
    nodeProblem: undefined,
    full: false,
    terminal: { stdoutIsTty: false, columns: 80, color: false },
    signal: new AbortController().signal,
  })
}

test("an advisory is reported until it is acknowledged", async () => {
  using context = createTestHomeContext()
  expect(await findings(context)).toEqual([
    { level: "warning", text: "H-1: a weakness", fix: "update; then hermes doctor --ack H-1" },
  ])
  expect(await acknowledgeAdvisory(context, { id: "H-1", advisories })).toMatchObject({ ok: true })
  expect(readFileSync(context.home.file("config.yaml"), "utf8")).toContain("H-1")
  expect(await findings(context)).toEqual([{ level: "ok", text: "none" }])
})

test("an unknown advisory is invalid", async () => {
  using context = createTestHomeContext()
  expect(await acknowledgeAdvisory(context, { id: "H-2", advisories })).toMatchObject({
    ok: false,
    error: { kind: "invalid" },
  })
})
