import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { TemporaryHome } from "../../../test/support/temporary-home.ts"
import type { AuditEntry } from "../../agent/dispatch/audit.ts"
import { systemClock } from "../../base/clock.ts"
import { createLogger } from "../../base/logger.ts"
import { createRedactor } from "../../base/redact.ts"
import { environmentFrom } from "../../config/environment.ts"
import { resolveHome } from "../../config/home.ts"
import { loadConfig } from "../../config/load-config.ts"
import { createAuditFile } from "./audit-log.ts"
import type { AuditFile } from "./audit-log.ts"

const SECRET = "canary-secret-value"
const SESSION = { sessionId: () => "s1", taskId: "s1", platform: "cli", userId: undefined }
const ENTRY: AuditEntry = {
  runId: "0a1b2c3d4e5f",
  callId: "c1",
  tool: "terminal",
  access: "exec",
  args: { command: `echo ${SECRET}` },
  status: "ok",
  durationMs: 12.4,
  decision: "allow",
  decidedBy: "profile",
  rule: "default",
  layer: "profile",
  profile: "default",
  latencyMs: 0.6,
}

async function openAudit(fixture: TemporaryHome): Promise<AuditFile> {
  const environment = environmentFrom(fixture.env)
  const home = resolveHome(environment)
  const config = await loadConfig({ home, environment })
  const redactor = createRedactor({ enabled: false, secrets: [SECRET] })
  const log = createLogger({ sinks: [], redact: (text) => text })
  return createAuditFile({ home, config, redactor, clock: systemClock, log })
}

test("a line has the decision, and secrets are masked even where redaction is off", async () => {
  await using fixture = await temporaryHome()
  const audit = await openAudit(fixture)
  audit.record(ENTRY, SESSION)
  audit.recordEvent({ kind: "profile_change", old: "default", new: "plan" }, SESSION)
  audit.flush()
  const path = join(fixture.path, "logs/audit.jsonl")
  const text = readFileSync(path, "utf8")
  const [line, event] = text
    .trim()
    .split("\n")
    .map((json): unknown => JSON.parse(json))
  expect(line).toMatchObject({
    session_id: "s1",
    turn_id: "s1:s1:0a1b2c3d4e5f",
    platform: "cli",
    tool_call_id: "c1",
    tool: "terminal",
    access: "exec",
    args_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    decision: "allow",
    decided_by: "profile",
    status: "ok",
    duration_ms: 12,
  })
  expect(event).toMatchObject({ event: "profile_change", old: "default", new: "plan" })
  expect([text.includes(SECRET), statSync(path).mode & 0o777]).toEqual([false, 0o600])
})

test("the file is rotated at its size, and a file that cannot be written stops nothing", async () => {
  await using fixture = await temporaryHome({ config: "approvals: {audit: {max_mb: 0.1, keep: 1}}\n" })
  const audit = await openAudit(fixture)
  const path = join(fixture.path, "logs/audit.jsonl")
  mkdirSync(join(fixture.path, "logs"), { recursive: true })
  writeFileSync(path, `${"x".repeat(110_000)}\n`)
  audit.record(ENTRY, SESSION)
  audit.flush()
  expect([existsSync(`${path}.1`), readFileSync(path, "utf8").split("\n").length]).toEqual([true, 2])
  rmSync(path)
  mkdirSync(path)
  audit.record(ENTRY, SESSION)
  audit.flush()
  expect(statSync(path).isDirectory()).toBe(true)
})

test("nothing is written where the audit is disabled", async () => {
  await using fixture = await temporaryHome({ config: "approvals: {audit: {enabled: false}}\n" })
  const audit = await openAudit(fixture)
  audit.record(ENTRY, SESSION)
  audit.flush()
  expect(existsSync(join(fixture.path, "logs/audit.jsonl"))).toBe(false)
})
