import { readdir } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { createCliHome } from "../../support/cli-home.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"
import { openToolSession, QUIET } from "./tool-session.ts"
import { titleWithReason } from "../../support/skip-reason.ts"

const bubblewrap = await findBubblewrap()
const reason = "missing" in bubblewrap ? bubblewrap.missing : undefined
const missing = reason !== undefined

/** A path outside the workspace and the temporary directories. */
const OUTSIDE = "/opt/hermes-test-outside"

test.skipIf(missing)(
  titleWithReason(
    "commands run in a sandbox by default, and the note for a blocked command lists where it may write",
    reason,
  ),
  async () => {
    await using app = await assembleApp([], { config: `${QUIET}terminal:\n  sandbox_write: [~/projects]\n` })
    await using tools = await openToolSession(app)
    const stopped = await tools.call("terminal", { command: `mkdir ${OUTSIDE}` })
    expect(stopped.fields).toMatchObject({ exit_code: 1, output: expect.stringContaining("Read-only file system") })
    expect(stopped.notes).toMatch(
      /^\[Commands run in a sandbox and may write only to .+ and the caches of package managers\. Work there, or ask the user to add the directory to terminal\.sandbox_write or to set terminal\.sandbox to off\. Files there that other programs execute or obey, such as \.envrc or what a git hook starts, are read-only too; a file tool can write them, and asks the user\.\]$/u,
    )
    for (const path of [app.home.workdir, join(app.home.userHome, "projects")]) expect(stopped.notes).toContain(path)
    // No note for a command that only prints the message, or that fails for another reason.
    expect((await tools.call("terminal", { command: "echo Read-only file system" })).notes).toBe("")
    expect((await tools.call("terminal", { command: "cat nothing-there" })).notes).toBe("")
  },
)

test.skipIf(missing)(
  titleWithReason("the user is told once what the sandbox refused and how to change it", reason),
  async () => {
    const blocked = callsTool("terminal", { command: `mkdir ${OUTSIDE}` })
    await using app = await assembleApp([blocked, blocked, says("Done.")], { config: QUIET })
    const { events, end } = await runToEnd(await app.open(), "go")
    const shown = [
      ...events.flatMap((event) => (event.type === "status" ? [event.text] : [])),
      ...(end.result.notes ?? []),
    ].filter((text) => text.includes("hermes config set terminal.sandbox_write"))
    expect(shown).toEqual([expect.stringMatching(/^The sandbox lets commands write only to /u)])
  },
)

test.skipIf(missing)(titleWithReason("a background command gets the note with its exit", reason), async () => {
  await using app = await assembleApp([], { config: QUIET })
  await using tools = await openToolSession(app)
  const { session_id: id } = await tools.fields("terminal", { command: `mkdir ${OUTSIDE}`, background: true })
  expect((await tools.call("process", { action: "wait", session_id: id, timeout: 20 })).notes).toContain(
    "terminal.sandbox_write",
  )
})

test.skipIf(missing)(
  titleWithReason("a network error gets a note only when the sandbox disables the network", reason),
  async () => {
    const command = "echo 'curl: (6) Could not resolve host: example.invalid'; exit 6"
    for (const network of [false, true]) {
      await using app = await assembleApp([], { config: `${QUIET}terminal:\n  sandbox_network: ${network}\n` })
      await using tools = await openToolSession(app)
      const { notes } = await tools.call("terminal", { command })
      expect([network, notes.includes("terminal.sandbox_network")]).toEqual([network, !network])
    }
  },
)

test("there is no note without a sandbox", async () => {
  const command = "echo 'mkdir: Read-only file system'; exit 1"
  await using off = await assembleApp([], { config: `${QUIET}terminal:\n  sandbox: off\n` })
  await using tools = await openToolSession(off)
  expect((await tools.call("terminal", { command })).notes).toBe("")
  await using none = await assembleApp([], { config: QUIET, env: { PATH: "/nowhere" } })
  await using bare = await openToolSession(none)
  expect((await bare.call("terminal", { command })).notes).toBe("")
})

test("without a sandbox the user is informed once, when the first session opens", async () => {
  await using app = await assembleApp([], { config: QUIET, env: { PATH: "/nowhere" } })
  const warnings = async (assembled: AssembledApp): Promise<readonly string[]> => {
    assembled.model.push(says("Hello."))
    const session = await assembled.open()
    const { events } = await runToEnd(session, "hello")
    await session.close("test_end")
    return events.flatMap((event) => (event.type === "status" && event.kind === "warning" ? [event.text] : []))
  }
  expect(await warnings(app)).toEqual([
    expect.stringMatching(/^Commands run without a sandbox: .*install the package bubblewrap.*including your keys/u),
  ])
  expect(await warnings(await app.restart())).toEqual([])
})

test.each([
  { mode: "auto", level: missing ? "warning" : "ok" },
  { mode: "off", level: "info" },
])("doctor and status report whether the sandbox works: $mode", async ({ mode, level }) => {
  using home = createCliHome()
  const variables = { PATH: process.env["PATH"] ?? "", TERMINAL_SANDBOX: mode }
  const { out } = await home.run(["doctor", "--json"], { variables })
  const report = JSON.parse(out) as { sections: { title: string; findings: { level: string; text: string }[] }[] }
  const findings = report.sections.find(({ title }) => title === "External programs")?.findings ?? []
  expect(findings.filter(({ text }) => text.includes("sandbox")).map((finding) => finding.level)).toEqual([level])
  const status = await home.run(["status", "--json"], { variables })
  expect(JSON.parse(status.out)).toMatchObject({
    sandbox: { state: mode === "off" ? "off" : missing ? "missing" : "on" },
  })
  expect((await home.run(["status"], { variables })).out).toMatch(/ {2}sandbox +\S/u)
})

test("with the network disabled and no sandbox, no command runs; doctor and status report it", async () => {
  await using app = await assembleApp([], {
    config: `${QUIET}terminal:\n  sandbox_network: false\n`,
    env: { PATH: "/nowhere" },
  })
  await using tools = await openToolSession(app)
  const refused = expect.stringContaining("or set terminal.sandbox_network to true")
  for (const background of [false, true]) {
    const { error } = await tools.fields("terminal", { command: "echo ran >ran", background })
    expect([background, error]).toEqual([background, refused])
  }
  expect(await readdir(app.home.workdir)).not.toContain("ran")
  using home = createCliHome()
  const variables = { PATH: "/nowhere", TERMINAL_SANDBOX_NETWORK: "false" }
  const doctor = await home.run(["doctor"], { variables })
  expect([doctor.code, doctor.out]).toEqual([1, refused])
  expect((await home.run(["status"], { variables })).out).toMatch(
    / {2}sandbox +none, so no command runs: .*network to true/u,
  )
})

test("doctor fails when a required sandbox is missing, and says what to do", async () => {
  using home = createCliHome()
  const variables = { PATH: "/nowhere", TERMINAL_SANDBOX: "required" }
  const { code, out } = await home.run(["doctor"], { variables })
  expect([code, out]).toEqual([1, expect.stringContaining("install the package bubblewrap")])
})
