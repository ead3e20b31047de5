import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, cutsAfter, refuses, repeat, says } from "../support/model-server/turn.ts"
import { hermesCommand, runProcess } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, NO_SANDBOX, outcomeOf, settingsFor } from "./hermes-process.ts"
import { titleWithReason } from "../support/skip-reason.ts"

describe("-z, for scripts", () => {
  test("prints exactly the answer", async () => {
    await using model = await startModelServer([callsTool("terminal", { command: "echo hi" }), says("It said hi.\n\n")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    expect(await outcomeOf(hermes(home, ["-z", "say hi"], { stdin: "inherit-null" }))).toEqual({
      code: 0,
      stdout: "It said hi.\n",
      stderr: "",
    })
  })

  test("a failing provider prints one line and exits 1", async () => {
    await using model = await startModelServer([repeat(refuses(401, "bad key"))])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const result = await hermes(home, ["-z", "hi"], { stdin: "inherit-null" })
    expect([result.code, result.stdout]).toEqual([1, ""])
    expect(result.stderr).toMatch(/^hermes -z: [^\n]+\n$/)
  })

  test("an empty answer prints one line and exits 1", async () => {
    await using model = await startModelServer([repeat(says(""))])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const result = await hermes(home, ["-z", "hi"], { stdin: "inherit-null" })
    expect([result.code, result.stdout]).toEqual([1, ""])
    expect(result.stderr).toMatch(/^hermes -z: [^\n]*empty[^\n]*\n$/)
  })

  test.each([
    ["chat_completions", "/v1", ""],
    ["anthropic_messages", "/anthropic", "api_mode: anthropic_messages"],
  ])(
    "on %s a stream that is cut off is a partial answer, and nothing takes it for a whole one",
    async (_wire, path, mode) => {
      const words = `The first half, ${"on and on, ".repeat(500)} of a long answer.`
      const cut = { ...says(words), ...cutsAfter(5000) }
      await using model = await startModelServer([cut, cut])
      const config = `model:\n  base_url: ${model.url}${path}\n  default: test-model\n  ${mode}\n`
      await using home = await temporaryHome({ config })
      const result = await hermes(home, ["-z", "hi"], { stdin: "inherit-null" })
      expect([result.code, result.stdout.startsWith("The first half")]).toEqual([1, true])
      expect(result.stdout).not.toContain("long answer.")
      expect(result.stderr).toMatch(/^The connection was lost before the answer was complete[^\n]*\n$/)

      const json = await hermes(home, ["chat", "-q", "hi", "--output-format", "json"], { stdin: "inherit-null" })
      expect([json.code, JSON.parse(json.stdout).status]).toEqual([1, "partial"])
    },
  )

  test("never asks: a call that needs approval is denied, and the run continues", async () => {
    await using model = await startModelServer([callsTool("terminal", { command: "rm -r build" }), says("I may not.")])
    await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX), workFiles: { "build/x": "x" } })
    expect(await outcomeOf(hermes(home, ["-z", "clean"], { stdin: "inherit-null" }))).toEqual({
      code: 0,
      stdout: "I may not.\n",
      stderr: "",
    })
    expect(existsSync(join(home.workdir, "build/x"))).toBe(true)
  })

  test.each([
    { flags: ["--yolo"], removed: true },
    { flags: ["--permission-profile", "full-auto"], removed: true },
    { flags: ["--permission-profile", "default"], removed: false },
    { flags: ["--plan"], removed: false },
  ])("$flags decides whether the command runs", async ({ flags, removed }) => {
    await using model = await startModelServer([callsTool("terminal", { command: "rm -r build" }), says("Done.")])
    await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX), workFiles: { "build/x": "x" } })
    expect((await hermes(home, ["-z", "clean", ...flags], { stdin: "inherit-null" })).code).toBe(0)
    expect(existsSync(join(home.workdir, "build/x"))).toBe(!removed)
  })
})

describe("-q and -Q", () => {
  test("-q shows progress on stderr and the answer on stdout", async () => {
    await using model = await startModelServer([callsTool("terminal", { command: "echo hi" }), says("It said hi.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const result = await hermes(home, ["-q", "say hi"], { stdin: "inherit-null" })
    expect([result.code, result.stdout]).toEqual([0, "It said hi.\n"])
    expect(result.stderr).toMatch(/→ terminal echo hi\n.*✓ terminal: exit code 0\nsession_id: \S+\n$/s)
  })

  test("-Q -q prints the answer only, and the session on stderr", async () => {
    await using model = await startModelServer([callsTool("terminal", { command: "echo hi" }), says("It said hi.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const result = await hermes(home, ["-Q", "-q", "say hi"], { stdin: "inherit-null" })
    expect([result.code, result.stdout]).toEqual([0, "It said hi.\n"])
    expect(result.stderr).toMatch(/^session_id: \S+\n$/)
  })

  test("-Q -q with a failing provider prints Error and exits 1", async () => {
    await using model = await startModelServer([repeat(refuses(403, "no"))])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const result = await hermes(home, ["-Q", "-q", "hi"], { stdin: "inherit-null" })
    expect([result.code, result.stdout]).toEqual([1, ""])
    expect(result.stderr).toMatch(/^session_id: \S+\nError: [^\n]+\n$/)
  })
})

describe("standard input", () => {
  test("a pipe is appended to the prompt in a code fence", async () => {
    await using model = await startModelServer([says("Summed up.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const result = await hermes(home, ["-z", "sum up"], { stdin: "line one\nline two ```\n" })
    expect([result.code, result.stdout, result.stderr]).toEqual([0, "Summed up.\n", ""])
    expect(model.view(0).messages.map(({ text }) => text)).toEqual(["sum up\n\n````\nline one\nline two ```\n````"])
  })

  test("a file works like a pipe", async () => {
    await using model = await startModelServer([says("Read.")])
    await using home = await temporaryHome({ config: settingsFor(model), workFiles: { "in.txt": "from a file\n" } })
    const result = await shell(home, '"$0" "$1" -z "look" < in.txt')
    expect([result.code, result.stdout, result.stderr]).toEqual([0, "Read.\n", ""])
    expect(model.view(0).messages[0]?.text).toBe("look\n\n```\nfrom a file\n```")
  })

  test("without a prompt the pipe is the prompt", async () => {
    await using model = await startModelServer([says("Hello.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const result = await hermes(home, [], { stdin: "hello there\n" })
    expect([result.code, result.stdout]).toEqual([0, "Hello.\n"])
    expect(result.stderr).toMatch(/^session_id: \S+\n$/)
    expect(model.view(0).messages[0]?.text).toBe("hello there")
  })

  test.each([
    { flags: ["-Q", "-q", "-"], name: "-q -" },
    { flags: ["-z", "-"], name: "-z -" },
  ])("$name reads the prompt from the pipe", async ({ flags }) => {
    await using model = await startModelServer([says("Hello.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    expect((await hermes(home, flags, { stdin: "hello there\n" })).stdout).toBe("Hello.\n")
    expect(model.view(0).messages[0]?.text).toBe("hello there")
  })

  test("an empty pipe does not change the prompt", async () => {
    await using model = await startModelServer([says("Hello.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    expect((await hermes(home, ["-z", "hello"], { stdin: "closed" })).code).toBe(0)
    expect(model.view(0).messages[0]?.text).toBe("hello")
  })

  test("input over a megabyte is cut, and the user and the model learn how much was used", async () => {
    await using model = await startModelServer([says("Long.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const result = await hermes(home, ["-z", "sum up"], { stdin: "0123456789".repeat(300_000) })
    expect([result.code, result.stdout]).toEqual([0, "Long.\n"])
    expect(result.stderr).toMatch(/^Standard input is longer than 1,000,000 bytes: only its beginning is sent/)
    const text = model.view(0).messages[0]?.text ?? ""
    expect(text.length).toBeLessThan(1_000_300)
    expect(text).toMatch(/\n\[input truncated: these are the first 1,000,000 bytes of standard input, .*\]\n```$/)
  })

  test("a closed descriptor counts as no input", async () => {
    await using model = await startModelServer([says("Hello.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const result = await shell(home, '"$0" "$1" -z hello <&-')
    expect([result.code, result.stdout, result.stderr]).toEqual([0, "Hello.\n", ""])
  })

  test.each([
    { name: "an empty pipe", args: [], stdin: "closed" },
    { name: "a blank pipe", args: [], stdin: " \n\n" },
    { name: "/dev/null", args: [], stdin: "inherit-null" },
    { name: "an empty -q", args: ["-q", "  "], stdin: "inherit-null" },
    { name: "an empty -z", args: ["-z", ""], stdin: "inherit-null" },
  ])("$name without a prompt is a usage error", async ({ args, stdin }) => {
    await using home = await temporaryHome()
    const result = await hermes(home, args, { stdin })
    expect([result.code, result.stdout]).toEqual([2, ""])
    expect(result.stderr).toMatch(/^[^\n]*prompt[^\n]*\n$/)
  })
})

describe("resuming", () => {
  test("by id, prefix and title, and the most recent session", async () => {
    await using model = await startModelServer([repeat(says("Noted."))])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const first = await hermes(home, ["-Q", "-q", "plant the beans"], { stdin: "inherit-null" })
    const id = /session_id: (\S+)/.exec(first.stderr)?.[1] ?? ""
    const ways = [
      ["--resume", id],
      ["--resume", id.slice(0, -2)],
      ["--resume", "plant the beans"],
      ["-r", id],
    ]
    for (const way of [...ways, ["--continue"], ["-c", "plant the beans"]]) {
      const result = await hermes(home, ["-Q", "-q", `by ${way.join(" ")}`, ...way], { stdin: "inherit-null" })
      expect([way, result.code, /session_id: (\S+)/.exec(result.stderr)?.[1]]).toEqual([way, 0, id])
    }
    const last = model.view(model.requests.length - 1).messages
    expect(last.filter(({ role }) => role === "user")).toHaveLength(7)
    // The prompt prefix is append-only across processes too.
    for (const [index, { rawBody }] of model.requests.slice(0, -1).entries()) {
      expect(model.requests[index + 1]?.rawBody.startsWith(rawBody.slice(0, -2))).toBe(true)
    }
  })

  test.each([
    { args: ["--resume", "20200101_000000_abcdef"], says: /no session "20200101_000000_abcdef"/ },
    { args: ["-c", "no such title"], says: /no session "no such title"/ },
    { args: ["--continue"], says: /no session to continue/ },
  ])("$args without such a session exits 1", async ({ args, says: sentence }) => {
    await using home = await temporaryHome()
    const result = await hermes(home, ["-z", "hi", ...args], { stdin: "inherit-null" })
    expect([result.code, result.stdout]).toEqual([1, ""])
    expect(result.stderr.trimEnd().split("\n").at(-1)).toMatch(sentence)
  })
})

describe("without a key or a network", () => {
  test("the demo answers with a real tool call and states that it is not an AI", async () => {
    await using home = await temporaryHome({ workFiles: { "beans.txt": "x", "corn.txt": "y" } })
    const result = await hermes(home, ["-z", "list the files here"], { stdin: "inherit-null" })
    expect(result.code).toBe(0)
    expect(result.stdout).toContain("beans.txt")
    expect(result.stdout).toContain("corn.txt")
    expect(result.stderr).toMatch(/^No model is configured[^\n]*not an AI[^\n]*\n$/)
  })

  const noNamespace =
    spawnSync("unshare", ["-r", "-n", "true"]).status === 0 ? undefined : "`unshare -r -n` is not allowed here"
  test.skipIf(noNamespace !== undefined)(
    titleWithReason("works without a loopback interface", noNamespace),
    async () => {
      await using home = await temporaryHome({ workFiles: { "beans.txt": "x" } })
      const [node, binary] = hermesCommand()
      const args = ["-r", "-n", node, binary, "-z", "list the files here"]
      const result = await runProcess({ command: "unshare", args, cwd: home.workdir, env: home.env })
      expect([result.code, result.stdout.includes("beans.txt")]).toEqual([0, true])
    },
  )

  test("a first session: write, remember, resume, search", async () => {
    await using home = await temporaryHome({ config: NO_SANDBOX })
    const say = (...args: string[]) => hermes(home, args, { stdin: "inherit-null" })
    const first = await say("-Q", "-q", "write a note saying buy milk, then read it back")
    expect([first.code, await readFile(join(home.workdir, "hermes-demo-note.txt"), "utf8")]).toEqual([0, "buy milk\n"])
    expect((await say("-z", "remember that I prefer short answers", "--continue")).code).toBe(0)
    expect(await readFile(join(home.path, "memories/MEMORY.md"), "utf8")).toContain("short answers")
    expect((await say("-z", "replace milk with bread in hermes-demo-note.txt", "-c")).code).toBe(0)
    expect(await readFile(join(home.workdir, "hermes-demo-note.txt"), "utf8")).toBe("buy bread\n")
    const denied = await say("-z", "delete hermes-demo-note.txt")
    expect([denied.code, existsSync(join(home.workdir, "hermes-demo-note.txt"))]).toEqual([0, true])
  })
})

async function shell(home: Awaited<ReturnType<typeof temporaryHome>>, script: string) {
  const [node, binary] = hermesCommand()
  return await runProcess({ command: "bash", args: ["-c", script, node, binary], cwd: home.workdir, env: home.env })
}
