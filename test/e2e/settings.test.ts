import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import { hermes, outcomeOf, settingsFor, streamLines } from "./hermes-process.ts"

const QUIET = { stdin: "inherit-null" } as const
const run = (home: TemporaryHome, ...args: readonly string[]) => outcomeOf(hermes(home, args, QUIET))
const fileOf = (home: TemporaryHome): string => readFileSync(join(home.path, "config.yaml"), "utf8")

describe("config set", () => {
  test("a model name keeps the provider and the address", async () => {
    const config = "model:\n  default: old\n  provider: openrouter\n  base_url: http://127.0.0.1:1/v1\n"
    await using home = await temporaryHome({ config })
    const set = await run(home, "config", "set", "model", "gpt-5")
    expect([set.code, set.stdout]).toEqual([0, "Set model.default in ~/.hermes/config.yaml.\n"])
    expect(fileOf(home)).toBe(config.replace("old", "gpt-5"))
  })

  test("a model without a provider reports what is missing and how to add it", async () => {
    await using home = await temporaryHome()
    const set = await run(home, "config", "set", "model", "foo")
    expect([set.code, set.stderr]).toEqual([
      0,
      expect.stringMatching(/^No provider is configured for the model "foo": .*`hermes model`.*\n$/),
    ])
  })

  test.each([
    ["agent", "foo"],
    ["agent", "5"],
    ["approvals.mode", "banana"],
  ])("%s %s is refused", async (key, value) => {
    await using home = await temporaryHome({ config: "agent:\n  max_turns: 7\n" })
    expect((await run(home, "config", "set", key, value)).code).toBe(2)
    expect(fileOf(home)).toBe("agent:\n  max_turns: 7\n")
  })

  test("a reserved setting is stored and marked wherever it is shown", async () => {
    await using home = await temporaryHome()
    const set = await run(home, "config", "set", "display.language", "de")
    expect(set.stderr).toBe(
      "`display.language` is reserved for a later release: it is stored, but has no effect yet.\n",
    )
    expect((await run(home, "config", "show")).stdout).toMatch(/display\.language +de {2}\(reserved, no effect yet\)\n/)
    expect((await run(home, "config", "check")).stdout).toContain("without effect yet: display.language.\n")
  })
})

describe("a start with settings that cannot be trusted", () => {
  test.each([
    ["approvals:\n  mode: banana\n", {}, /`approvals\.mode` is "banana"; use one of manual, /],
    ["approvals:\n  profile: strict\n", {}, /`approvals\.profile` is "strict"; use one of plan, default, /],
    ["", { TERMINAL_SANDBOX: "requierd" }, /TERMINAL_SANDBOX.*did you mean required\?/],
  ])("%j %j is refused", async (more, env, message) => {
    await using model = await startModelServer([])
    await using home = await temporaryHome({ config: settingsFor(model, more), env })
    const result = await run(home, "-z", "hi")
    expect([result.code, result.stdout, model.requests.length]).toEqual([1, "", 0])
    expect(result.stderr).toMatch(message)
    expect(result.stderr).toContain("Hermes does not start")
  })

  test("a network restriction without effect is reported to scripts too", async () => {
    await using model = await startModelServer([says("Hello.")])
    const config = settingsFor(model, "terminal:\n  sandbox: off\n  sandbox_network: false\n")
    await using home = await temporaryHome({ config })
    const result = await run(home, "-z", "hi")
    expect([result.code, result.stdout]).toEqual([0, "Hello.\n"])
    expect(result.stderr).toMatch(/`terminal\.sandbox` is off, so commands have network access/)
  })
})

describe("the demo answers only where nothing is configured", () => {
  const modes: readonly (readonly string[])[] = [
    ["-z", "hi"],
    ["-q", "hi"],
    ["-q", "hi", "--output-format", "json"],
  ]

  test.each(modes)("a model without a provider fails in %s %s", async (...args) => {
    await using home = await temporaryHome({ config: "model:\n  default: foo\n" })
    const result = await run(home, ...args)
    expect([result.code, result.stdout]).toEqual([1, ""])
    expect(result.stderr).toMatch(/^No provider is configured for the model "foo": .*`hermes model`/)
  })

  test.each(modes)("a file that does not parse fails in %s %s", async (...args) => {
    await using home = await temporaryHome({ config: "model: [1\nb: 2\n" })
    const result = await run(home, ...args)
    expect([result.code, result.stdout]).toEqual([1, ""])
    expect(result.stderr).toMatch(/config\.yaml cannot be used and all its settings are being ignored; line \d+/)
  })

  test("a pipe fails the same way", async () => {
    await using home = await temporaryHome({ config: "model: [1\n" })
    const result = await outcomeOf(hermes(home, [], { stdin: "hello" }))
    expect([result.code, result.stdout]).toEqual([1, ""])
  })

  test.each(["config.yaml", ".env"])("%s that cannot be read fails", async (name) => {
    await using home = await temporaryHome()
    // A directory cannot be read as a file, even by root.
    mkdirSync(join(home.path, name))
    chmodSync(join(home.path, name), 0o700)
    const result = await run(home, "-z", "hi")
    expect([result.code, result.stdout]).toEqual([1, ""])
    expect(result.stderr).toContain(name)
  })

  test("an empty home gets the demo, and JSON marks it", async () => {
    await using home = await temporaryHome()
    const plain = await run(home, "-z", "hi")
    expect([plain.code, plain.stderr]).toEqual([0, expect.stringContaining("the demo, which is not an AI")])
    const json = await run(home, "-q", "hi", "--output-format", "stream-json")
    const lines = streamLines(json.stdout)
    expect(lines.filter(({ demo }) => demo === true).map(({ type }) => type)).toEqual(["session.start", "result"])
  })

  test("a user at the terminal sees the broken file and who answers", async () => {
    await using home = await temporaryHome({ config: "model: [1\n" })
    await using terminal = await openTerminal({ command: hermesCommand(), args: [], env: home.env, cwd: home.workdir })
    await terminal.waitFor(/cannot be used/)
    await terminal.waitFor(/No model is known until that file is repaired/)
    await terminal.waitFor(/demo, not an AI/)
  })
})

describe("the directory of a continued session", () => {
  async function twoDirectories(home: TemporaryHome): Promise<{ readonly a: string; readonly b: string }> {
    const [a, b] = [join(home.workdir, "a"), join(home.workdir, "b")]
    mkdirSync(a)
    mkdirSync(b)
    return await Promise.resolve({ a, b })
  }

  test("-c continues the last session of this directory, and names one elsewhere", async () => {
    await using model = await startModelServer([says("In a."), says("In b."), says("Again in a.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const { a, b } = await twoDirectories(home)
    const inDirectory = (cwd: string, ...args: readonly string[]) => outcomeOf(hermes(home, args, { ...QUIET, cwd }))
    await inDirectory(a, "-z", "first")
    const nothing = await inDirectory(b, "-z", "more", "-c")
    expect([nothing.code, nothing.stdout]).toEqual([1, ""])
    expect(nothing.stderr).toContain(`There is no session to continue in ${b}.`)
    expect(nothing.stderr).toContain(`in ${a}: continue it here with \`hermes -c --all\``)
    await inDirectory(b, "-z", "second")
    expect((await inDirectory(a, "-z", "third", "-c")).stdout).toBe("Again in a.\n")
    expect(model.view(2).messages.map(({ text }) => text)).toEqual(["first", "In a.", "third"])
  })

  test("--resume from another directory tells the user and the model, once; the prompt stays", async () => {
    await using model = await startModelServer([
      says("In a."),
      callsTool("terminal", { command: "pwd" }),
      says("Moved."),
      says("Still here."),
      says("Back."),
    ])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const { a, b } = await twoDirectories(home)
    await hermes(home, ["-z", "first"], { ...QUIET, cwd: a })
    const id =
      /"id":\s*"(?<id>[^"]+)"/.exec((await run(home, "sessions", "list", "--json")).stdout)?.groups?.["id"] ?? ""
    const moved = await hermes(home, ["--resume", id, "-q", "where?"], { ...QUIET, cwd: b })
    expect(moved.stderr).toContain(`This conversation was in ${a} before; it continues in ${b}.`)
    expect(model.view(1).messages.at(-1)?.text).toContain(`\nCurrent working directory: ${b}]`)
    expect(model.toolResults(2).at(-1)?.text).toContain(b)
    expect(model.view(1).system).toBe(model.view(0).system)

    const again = await hermes(home, ["-c", "-q", "and now?"], { ...QUIET, cwd: b })
    expect([again.stderr.includes("before; it continues"), model.view(3).messages.at(-1)?.text]).toEqual([
      false,
      "and now?",
    ])
    await hermes(home, ["-c", "--all", "-q", "back"], { ...QUIET, cwd: a })
    expect(model.view(4).messages.at(-1)?.text).toContain(`\nCurrent working directory: ${a}]`)
  })
})

test("safe mode sends neither SOUL.md nor project rules", async () => {
  await using model = await startModelServer([says("Hello."), says("Hello.")])
  await using home = await temporaryHome({
    env: { OPENAI_BASE_URL: `${model.url}/v1`, HERMES_INFERENCE_MODEL: "test-model" },
  })
  writeFileSync(join(home.path, "SOUL.md"), "You are a pirate called Plank.\n")
  writeFileSync(join(home.workdir, "AGENTS.md"), "Always rhyme.\n")
  await hermes(home, ["-z", "hi"], QUIET)
  await hermes(home, ["-z", "hi", "--safe-mode"], QUIET)
  const found = [0, 1].map((index) => /Plank|rhyme/.test(model.view(index).system))
  expect(found).toEqual([true, false])
})
