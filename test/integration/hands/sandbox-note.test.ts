import { readdir } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { createTestHome } from "../../support/command-run.ts"
import { findBubblewrap } from "../../support/bubblewrap.ts"
import { assembleApp } from "../assembled-app.ts"
import { openHands, QUIET } from "./hands.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap

/** A place that is neither the workspace nor temporary. */
const OUTSIDE = "/opt/hermes-test-outside"

test.skipIf(missing)(
  "by default commands have walls, and one that runs into them learns where it may write",
  async () => {
    await using house = await assembleApp([], { config: `${QUIET}terminal:\n  sandbox_write: [~/projects]\n` })
    await using hands = await openHands(house)
    const stopped = await hands.call("terminal", { command: `mkdir ${OUTSIDE}` })
    expect(stopped.fields).toMatchObject({ exit_code: 1, output: expect.stringContaining("Read-only file system") })
    expect(stopped.notes).toMatch(
      /^\[Commands run in a sandbox and may write only to .+ and the caches of package managers\. Work there, or ask the person to add the place to terminal\.sandbox_write or to set terminal\.sandbox to off\.\]$/u,
    )
    for (const place of [house.home.workdir, join(house.home.userHome, "projects")])
      expect(stopped.notes).toContain(place)
    // What only speaks of it, or failed for another reason, is left alone.
    expect((await hands.call("terminal", { command: "echo Read-only file system" })).notes).toBe("")
    expect((await hands.call("terminal", { command: "cat nothing-there" })).notes).toBe("")
  },
)

test.skipIf(missing)("in the background it is told when the end is looked at", async () => {
  await using house = await assembleApp([], { config: QUIET })
  await using hands = await openHands(house)
  const { session_id: id } = await hands.fields("terminal", { command: `mkdir ${OUTSIDE}`, background: true })
  expect((await hands.call("process", { action: "wait", session_id: id, timeout: 20 })).notes).toContain(
    "terminal.sandbox_write",
  )
})

test.skipIf(missing)("without network the walls are named, with it they are not blamed", async () => {
  const command = "echo 'curl: (6) Could not resolve host: example.invalid'; exit 6"
  for (const network of [false, true]) {
    await using house = await assembleApp([], { config: `${QUIET}terminal:\n  sandbox_network: ${network}\n` })
    await using hands = await openHands(house)
    const { notes } = await hands.call("terminal", { command })
    expect([network, notes.includes("terminal.sandbox_network")]).toEqual([network, !network])
  }
})

test("with the sandbox off, or where there is none, nobody speaks of it", async () => {
  const command = "echo 'mkdir: Read-only file system'; exit 1"
  await using off = await assembleApp([], { config: `${QUIET}terminal:\n  sandbox: off\n` })
  await using hands = await openHands(off)
  expect((await hands.call("terminal", { command })).notes).toBe("")
  await using none = await assembleApp([], { config: QUIET, env: { PATH: "/nowhere" } })
  await using bare = await openHands(none)
  expect((await bare.call("terminal", { command })).notes).toBe("")
})

test.each([
  { mode: "auto", level: missing ? "warning" : "ok" },
  { mode: "off", level: "info" },
])("doctor and status say whether it works: $mode", async ({ mode, level }) => {
  using home = createTestHome()
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

test("without a sandbox and without a network no command is run; doctor and status say so", async () => {
  await using house = await assembleApp([], {
    config: `${QUIET}terminal:\n  sandbox_network: false\n`,
    env: { PATH: "/nowhere" },
  })
  await using hands = await openHands(house)
  const refused = expect.stringContaining("or set terminal.sandbox_network to true")
  for (const background of [false, true]) {
    const { error } = await hands.fields("terminal", { command: "echo ran >ran", background })
    expect([background, error]).toEqual([background, refused])
  }
  expect(await readdir(house.home.workdir)).not.toContain("ran")
  using home = createTestHome()
  const variables = { PATH: "/nowhere", TERMINAL_SANDBOX_NETWORK: "false" }
  const doctor = await home.run(["doctor"], { variables })
  expect([doctor.code, doctor.out]).toEqual([1, refused])
  expect((await home.run(["status"], { variables })).out).toMatch(
    / {2}sandbox +none, so no command runs: .*network to true/u,
  )
})

test("where it is required and cannot be had, doctor fails and names what to do", async () => {
  using home = createTestHome()
  const variables = { PATH: "/nowhere", TERMINAL_SANDBOX: "required" }
  const { code, out } = await home.run(["doctor"], { variables })
  expect([code, out]).toEqual([1, expect.stringContaining("install the package bubblewrap")])
})
