import { existsSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import type { Session } from "../../src/app/session/session.ts"
import type { AgentEvent, ApprovalChoice } from "../../src/protocol/events.ts"
import { manualClock } from "../support/manual-clock.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { RunRecord } from "./assembled-app.ts"

const REMOVE = callsTool("terminal", { command: "rm -r build" }, { id: "call_rm" })
const WORK = { "build/out.txt": "x\n" }
/** Without walls, every finding of the detector is asked about. */
const UNWALLED = "terminal:\n  sandbox: off\n"

test("an approval for once runs the call, and the next call asks again", async () => {
  await using assembled = await assembleApp([REMOVE, says("Gone."), REMOVE, says("Nothing there.")], {
    workFiles: WORK,
    config: UNWALLED,
  })
  const session = await assembled.open()
  const first = await runToEnd(session, "clean", answering(session, "once"))
  expect(existsSync(join(assembled.home.workdir, "build"))).toBe(false)
  expect(questions(first)).toEqual([{ command: "rm -r build", rule: "recursive delete" }])
  expect(decisions(first)).toEqual([{ outcome: "ok", by: "user", choice: "once" }])
  const second = await runToEnd(session, "again", answering(session, "once"))
  expect(questions(second)).toHaveLength(1)
})

test("an approval for the session lasts for the session only", async () => {
  await using assembled = await assembleApp([REMOVE, says("Gone."), REMOVE, says("Still."), REMOVE, says("No.")], {
    workFiles: WORK,
    config: UNWALLED,
  })
  const session = await assembled.open()
  expect(questions(await runToEnd(session, "clean", answering(session, "session")))).toHaveLength(1)
  const again = await runToEnd(session, "again", answering(session, "deny"))
  expect(questions(again)).toEqual([])
  expect(decisions(again)).toEqual([{ outcome: "ok", by: "rule", choice: "allow" }])
  const other = await assembled.open()
  expect(questions(await runToEnd(other, "again", answering(other, "deny")))).toHaveLength(1)
})

test("a denied call is reported to the model and the run continues", async () => {
  await using assembled = await assembleApp([REMOVE, says("Understood.")], { workFiles: WORK, config: UNWALLED })
  const session = await assembled.open()
  const record = await runToEnd(session, "clean", answering(session, "deny"))
  expect(existsSync(join(assembled.home.workdir, "build/out.txt"))).toBe(true)
  expect(record.end.result.finalResponse).toBe("Understood.")
  expect(decisions(record)).toEqual([{ outcome: "denied", by: "user", choice: "deny" }])
  expect(assembled.model.toolResults(1)[0]?.text).toMatch(/Not run: the user denied it/)
})

test("an approval request that times out is denied", async () => {
  const clock = manualClock()
  const config = `${UNWALLED}approvals:\n  timeout: 60\n`
  await using assembled = await assembleApp([REMOVE, says("Too late.")], { workFiles: WORK, clock, config })
  const session = await assembled.open()
  const record = await runToEnd(session, "clean", async (event) => {
    if (event.type === "approval-request") await clock.advance(60_000)
  })
  expect(record.end.result.finalResponse).toBe("Too late.")
  expect(decisions(record)).toEqual([{ outcome: "denied", by: "noninteractive", choice: "timeout" }])
  expect(existsSync(join(assembled.home.workdir, "build/out.txt"))).toBe(true)
  // The request is closed, so a late answer is not accepted.
  const request = record.events.find((event) => event.type === "approval-request")
  expect(session.answer(request?.requestId ?? "", { kind: "approval", choice: "once" })).toBe(false)
})

test("an unattended session denies the call, or approves it with approvals.headless_mode: approve", async () => {
  const script = [REMOVE, says("Done.")]
  await using strict = await assembleApp(script, { workFiles: WORK, config: UNWALLED })
  const denied = await runToEnd(await strict.open({ attended: false }), "clean")
  expect(decisions(denied)).toEqual([{ outcome: "denied", by: "noninteractive", choice: "deny" }])
  await using loose = await assembleApp(script, {
    workFiles: WORK,
    config: `${UNWALLED}approvals:\n  headless_mode: approve\n`,
  })
  const approved = await runToEnd(await loose.open({ attended: false }), "clean")
  expect(decisions(approved)).toEqual([{ outcome: "ok", by: "noninteractive", choice: "once" }])
})

test("a blocked call never asks for approval, in any profile, and the run continues", async () => {
  const format = callsTool("terminal", { command: "mkfs.none disk.img" })
  await using assembled = await assembleApp([format, says("I may not.")])
  const session = await assembled.open({ permissionProfile: "full-auto" })
  const record = await runToEnd(session, "format", answering(session, "once"))
  expect(questions(record)).toEqual([])
  expect(decisions(record)).toEqual([{ outcome: "blocked", by: "rule", choice: "deny" }])
  expect(assembled.model.toolResults(1)[0]?.text).toContain("BLOCKED (hardline)")
  expect(record.end.result.finalResponse).toBe("I may not.")
})

test("plan mode allows reads and blocks writes and commands", async () => {
  await using assembled = await assembleApp(
    [
      callsTool("write_file", { path: "new.txt", content: "x" }),
      callsTool("terminal", { command: "touch new.txt" }),
      callsTool("read_file", { path: "build/out.txt" }),
      says("Planned."),
    ],
    { workFiles: WORK },
  )
  const session = await assembled.open({ permissionProfile: "plan" })
  const record = await runToEnd(session, "plan it", answering(session, "once"))
  expect(decisions(record).map(({ outcome }) => outcome)).toEqual(["blocked", "blocked", "ok"])
  expect(existsSync(join(assembled.home.workdir, "new.txt"))).toBe(false)
  expect(assembled.model.toolResults(1)[0]?.text).toContain("PLAN_MODE_ACTIVE")
})

test.each([
  { tool: "write_file", path: "~/.hermes/config.yaml", why: "settings of Hermes" },
  { tool: "write_file", path: "~/.ssh/authorized_keys", why: "keys of the account" },
  { tool: "read_file", path: "link-to-env", why: "a link to secrets" },
  { tool: "write_file", path: "link-to-keys", why: "a link to a file that does not exist yet" },
])("$tool cannot access $path: $why", async ({ tool, path }) => {
  const links = 'ln -s "$HERMES_HOME/.env" link-to-env; mkdir ~/.ssh; ln -s ~/.ssh/authorized_keys link-to-keys'
  await using assembled = await assembleApp(
    [callsTool("terminal", { command: links }), callsTool(tool, { path, content: "x" }), says("Refused.")],
    { files: { ".env": "EXA_API_KEY=zebra-quartz-violin\n" } },
  )
  const record = await runToEnd(await assembled.open({ permissionProfile: "full-auto" }), "try")
  expect(decisions(record).map(({ outcome }) => outcome)).toEqual(["ok", "blocked"])
  expect(existsSync(join(assembled.home.userHome, ".ssh/authorized_keys"))).toBe(false)
})

function answering(session: Session, choice: Exclude<ApprovalChoice, "timeout">): (event: AgentEvent) => void {
  return (event) => {
    if (event.type === "approval-request")
      expect(session.answer(event.requestId, { kind: "approval", choice })).toBe(true)
  }
}

function questions({ events }: RunRecord): readonly { readonly command: string | undefined; readonly rule: string }[] {
  return events.flatMap((event) =>
    event.type === "approval-request" ? [{ command: event.command, rule: event.rule }] : [],
  )
}

function decisions({ events }: RunRecord) {
  return events.flatMap((event) =>
    event.type === "tool-end"
      ? [{ outcome: event.outcome, by: event.decision?.by, choice: event.decision?.choice }]
      : [],
  )
}
