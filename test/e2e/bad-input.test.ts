import { spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, repeat, says } from "../support/model-server/turn.ts"
import { hermesCommand, runProcess } from "../support/process-driver.ts"
import type { ProcessResult } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { hermes, NO_SANDBOX, settingsFor } from "./hermes-process.ts"
import { titleWithReason } from "../support/skip-reason.ts"

describe("invalid input prints one sentence and has a stable exit code", () => {
  test.each([
    { args: ["--bogus"], code: 2, says: /`--bogus`/ },
    { args: ["-z", "hi", "--bogus=1"], code: 2, says: /`--bogus`/ },
    { args: ["chat", "--outputformat", "json"], code: 2, says: /--output-format/ },
    { args: ["frobnicate"], code: 2, says: /Unknown command `frobnicate`/ },
    { args: ["sesions", "list"], code: 2, says: /Did you mean `sessions`\?/ },
    { args: ["config", "gte", "model.default"], code: 2, says: /`get`/ },
    { args: ["config", "get", "no.such.key"], code: 1, says: /no\.such\.key/ },
    { args: ["config", "set", "model.default"], code: 2, says: /./ },
    { args: ["config", "set", "toolsets", "[1,"], code: 2, says: /JSON/ },
    { args: ["sessions", "show", "nope"], code: 1, says: /There is no session `nope`/ },
    { args: ["sessions", "delete", "nope", "--yes"], code: 1, says: /There is no session `nope`/ },
    { args: ["sessions", "rename", "nope", "new title"], code: 1, says: /There is no session `nope`/ },
    { args: ["--profile", "nope", "-z", "hi"], code: 1, says: /Profile "nope" does not exist/ },
    { args: ["--profile", "../evil", "-z", "hi"], code: 2, says: /profile/i },
    { args: ["profile", "use", "nope"], code: 1, says: /no profile "nope"/ },
    { args: ["logs", "nope"], code: 2, says: /nope/ },
    { args: ["-z"], code: 2, says: /`-z` needs a value/ },
    { args: ["-z", "hi", "--max-turns", "0"], code: 2, says: /at least 1/ },
    { args: ["-z", "hi", "--max-turns", "many"], code: 2, says: /whole number/ },
    { args: ["-z", "hi", "--permission-profile", "bogus"], code: 2, says: /Unknown permission profile "bogus"/ },
    { args: ["-z", "hi", "--plan", "--yolo"], code: 2, says: /cannot be used together/ },
    { args: ["-z", "hi", "--image", "nope.png"], code: 2, says: /nope\.png does not exist/ },
    { args: ["-z", "hi", "--cwd", "/nope"], code: 2, says: /not a directory/ },
    { args: ["-z", "hi", "--output-format", "xml"], code: 2, says: /text, json, stream-json/ },
    { args: ["-z", "hi", "--provider", "openrouter"], code: 2, says: /needs a model/ },
    { args: ["-z", "hi", "--provider", "nope", "--model", "x"], code: 1, says: /Unknown provider "nope"/ },
    { args: ["-z", "hi", "--provider", "openrouter", "--model", "x"], code: 1, says: /OPENROUTER_API_KEY/ },
  ])("$args", async ({ args, code, says: sentence }) => {
    await using home = await temporaryHome()
    const result = await hermes(home, args, { stdin: "inherit-null" })
    expect([result.code, result.stdout]).toEqual([code, ""])
    expectOneSentence(result, sentence)
  })

  test.each([
    { address: "not a url", says: /not a url/ },
    { address: "ftp://example.invalid/v1", says: /ftp:/ },
    { address: "http://127.0.0.1:9/v1", says: /127\.0\.0\.1:9|refused|reach/ },
  ])("a model at $address", async ({ address, says: sentence }) => {
    await using home = await temporaryHome({
      config: `model:\n  base_url: "${address}"\n  default: m\nagent:\n  api_max_retries: 1\n`,
    })
    const result = await hermes(home, ["-z", "hi"], { stdin: "inherit-null" })
    expect([result.code, result.stdout]).toEqual([1, ""])
    expectOneSentence(result, sentence)
  })

  test("a server that is not a model server", async () => {
    await using model = await startModelServer([
      repeat({ kind: "raw", bytes: "<html>welcome</html>", headers: { "content-type": "text/html" } }),
    ])
    await using home = await temporaryHome({ config: settingsFor(model, "agent:\n  api_max_retries: 1\n") })
    const result = await hermes(home, ["-z", "hi"], { stdin: "inherit-null" })
    expect([result.code, result.stdout]).toEqual([1, ""])
    expectOneSentence(result, /^hermes -z: /)
  })
})

describe("an unusable settings file stops a script and is not changed", () => {
  const files: Readonly<Record<string, string | Buffer>> = {
    "broken YAML": "model: [unclosed\n",
    "a tab for indentation": "model:\n\tdefault: x\n",
    "a list at the top": "- a\n- b\n",
    "binary data": Buffer.from([0x80, 0xff, 0x00, 0xfe, 0x0a]),
    "text that is not UTF-8": Buffer.from("model:\n  default: caf\u00E9\n", "latin1"),
    "exponentially growing aliases": Array.from(
      { length: 14 },
      (_, index) =>
        `k${index}: &a${index} [${Array.from({ length: 10 }, () => (index === 0 ? "x" : `*a${index - 1}`)).join(",")}]`,
    ).join("\n"),
    "a file of many megabytes": `a: ${"x".repeat(8_000_000)}\n`,
    "mappings a thousand deep": `a: ${"{a: ".repeat(5000)}1${"}".repeat(5000)}\n`,
  }
  test.each(Object.entries(files))("%s", async (_name, content) => {
    await using home = await temporaryHome()
    const path = join(home.path, "config.yaml")
    writeFileSync(path, content)
    const run = await hermes(home, ["-q", "hello"], { stdin: "inherit-null" })
    expect([run.code, run.stdout]).toEqual([1, ""])
    expect(run.stderr).toContain("config.yaml")
    expect(run.stderr).not.toMatch(STACK)
    const set = await hermes(home, ["config", "set", "agent.max_turns", "5"], { stdin: "inherit-null" })
    expect([set.code, set.stdout]).toEqual([1, ""])
    expectOneSentence(set, /config\.yaml/)
    expect(readFileSync(path).equals(Buffer.from(content))).toBe(true)
  })

  test("invalid values are reported by key and replaced by the defaults", async () => {
    await using home = await temporaryHome({
      config: "agent: 5\napprovals:\n  timeout: -3\n__proto__:\n  polluted: 1\nnonsense: 1\n",
    })
    const result = await hermes(home, ["-q", "hello"], { stdin: "inherit-null" })
    expect(result.code).toBe(0)
    for (const key of ["agent", "approvals.timeout", "nonsense"]) expect(result.stderr).toContain(key)
    expect(result.stderr).not.toMatch(STACK)
  })

  test.each(["directory", "pipe", "dangling link"])("a %s instead of a file", async (kind) => {
    await using home = await temporaryHome()
    for (const name of ["config.yaml", ".env"]) {
      const path = join(home.path, name)
      if (kind === "directory") mkdirSync(path)
      else if (kind === "pipe") spawnSync("mkfifo", [path])
      else symlinkSync("/nowhere/at/all", path)
    }
    const result = await hermes(home, ["-q", "hello"], { stdin: "inherit-null", timeoutMs: 5000 })
    expect(result.code).toBe(1)
    expect(result.stderr).not.toMatch(STACK)
    expect(result.stderr).toMatch(/config\.yaml[^]*\.env|\.env[^]*config\.yaml/)
  })

  const noNamespace = spawnSync("unshare", ["-U", "true"]).status === 0 ? undefined : "`unshare -U` is not allowed here"
  test.skipIf(noNamespace !== undefined)(titleWithReason("an unreadable file", noNamespace), async () => {
    await using home = await temporaryHome({ config: "agent:\n  max_turns: 7\n" })
    // Without a user mapping the process runs as `nobody` and cannot read files of this user.
    for (const directory of [join(home.userHome, ".."), home.userHome]) chmodSync(directory, 0o755)
    chmodSync(home.path, 0o777)
    chmodSync(join(home.path, "config.yaml"), 0o000)
    const [node, binary] = hermesCommand()
    const args = ["-U", node, binary, "-q", "hello"]
    const result = await runProcess({ command: "unshare", args, cwd: "/", env: home.env })
    expect(result.stderr).toMatch(/config\.yaml[^\n]*permission denied/)
    expect([result.code, result.stdout]).toEqual([1, ""])
  })

  test("the valid lines of a broken .env are used", async () => {
    await using model = await startModelServer([says("Hello.")])
    await using home = await temporaryHome({
      config: settingsFor(model, "  api_key: ${ACME_API_KEY}\n"),
      files: {
        ".env": "\u0000junk\n=x\nLD_PRELOAD=/evil.so\nNODE_OPTIONS=--bad\nexport ACME_API_KEY='heron-bicycle-58'\n",
      },
    })
    const result = await hermes(home, ["-q", "hi"], { stdin: "inherit-null" })
    expect([result.code, result.stdout]).toEqual([0, "Hello.\n"])
    expect(model.requests[0]?.headers["authorization"]).toBe("Bearer heron-bicycle-58")
    expect(result.stderr).toContain("LD_PRELOAD")
    expect(result.stderr).toContain("NODE_OPTIONS")
  })
})

describe("an unusable home", () => {
  test.each(["/proc/hermes-home", "/dev/null/home", "/etc/hostname/home"])("at %s", async (path) => {
    await using home = await temporaryHome()
    const result = await hermes(home, ["-z", "hi"], {
      stdin: "inherit-null",
      env: { HERMES_HOME: path },
      timeoutMs: 4000,
    })
    expect([result.code, result.stdout]).toEqual([1, ""])
    expectOneSentence(result, /HERMES_HOME/)
    const help = await hermes(home, ["config", "path"], { stdin: "inherit-null", env: { HERMES_HOME: path } })
    expect([help.code, help.stdout, help.stderr]).toEqual([0, `${path}/config.yaml\n`, ""])
  })

  test("a deleted working directory", async () => {
    await using home = await temporaryHome()
    const [node, binary] = hermesCommand()
    const script = 'mkdir gone && cd gone && rmdir ../gone && "$0" "$1" -z hi </dev/null'
    const result = await runProcess({
      command: "bash",
      args: ["-c", script, node, binary],
      cwd: home.workdir,
      env: home.env,
    })
    expect([result.code, result.stdout]).toEqual([1, ""])
    expect(result.stderr).toMatch(/working directory/)
    expect(result.stderr).not.toMatch(STACK)
  })
})

describe("an unusable session database", () => {
  const damages: Readonly<Record<string, (path: string) => void>> = {
    "text instead of a database": (path) => writeFileSync(path, "this is not a database, but it may be valuable\n"),
    "a truncated file": (path) => writeFileSync(path, readFileSync(path).subarray(0, 20_000)),
    "noise in the middle": (path) => {
      const bytes = readFileSync(path)
      for (let index = 2000; index < bytes.length - 2000; index += 7) bytes[index] = (index * 31) % 256
      writeFileSync(path, bytes)
    },
  }
  test.each(Object.entries(damages))(
    "%s: answers anyway, reports the damage and deletes nothing",
    async (_name, damage) => {
      await using home = await temporaryHome()
      await hermes(home, ["-z", "remember the beans"], { stdin: "inherit-null" })
      const path = join(home.path, "state.db")
      damage(path)
      const damaged = readFileSync(path)
      const results = [
        await hermes(home, ["-q", "hello"], { stdin: "inherit-null" }),
        await hermes(home, ["-q", "hello"], { stdin: "inherit-null" }),
      ]
      for (const result of results) {
        expect(result.code).toBe(0)
        expect(result.stdout).not.toBe("")
        expect(result.stderr).not.toMatch(STACK)
      }
      const kept = readdirSync(home.path).filter((name) => name.startsWith("state.db"))
      const copies = kept.filter((name) => readFileSync(join(home.path, name)).equals(damaged))
      expect(copies.length).toBeGreaterThan(0)
      const list = await hermes(home, ["sessions", "list"], { stdin: "inherit-null" })
      expect(list.stderr).not.toMatch(STACK)
      expect([0, 1]).toContain(list.code)
    },
  )

  test("the next start does not copy the damaged database again", async () => {
    await using home = await temporaryHome({ files: { "state.db": "not a database at all, sorry\n" } })
    const copies = () => readdirSync(home.path).filter((name) => name.startsWith("state.db."))
    await hermes(home, ["-z", "hello"], { stdin: "inherit-null" })
    const first = copies()
    expect(first).toHaveLength(1)
    // Copies are named by the second, so this one is renamed to make a second copy visible.
    renameSync(join(home.path, first[0] ?? ""), join(home.path, `${first[0] ?? ""}-earlier`))
    await hermes(home, ["-z", "hello"], { stdin: "inherit-null" })
    expect(copies()).toHaveLength(1)
  })

  test.each([
    { mode: "-z", args: ["-z", "hello"] },
    { mode: "-q", args: ["-q", "hello"] },
    { mode: "-Q -q", args: ["-Q", "-q", "hello"] },
    { mode: "json", args: ["-q", "hello", "--output-format", "json"] },
    { mode: "stream-json", args: ["-q", "hello", "--output-format", "stream-json"] },
  ])("$mode reports that the conversation is not saved", async ({ args }) => {
    await using model = await startModelServer([says("Hello.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    mkdirSync(join(home.path, "state.db"))
    const result = await hermes(home, args, { stdin: "inherit-null" })
    expect([result.code, result.stdout.includes("Hello.")]).toEqual([0, true])
    expect(`${result.stdout}${result.stderr}`).toContain("This conversation is not saved")
    const resumed = await hermes(home, ["-z", "hello", "--continue"], { stdin: "inherit-null" })
    expect([resumed.code, resumed.stdout]).toEqual([1, ""])
  })
})

/** Mounting needs a private namespace, which not every machine allows. */
const cannotMount =
  spawnSync("unshare", ["-m", "-r", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).status === 0
    ? undefined
    : "`unshare -m -r` with `mount` is not allowed here"

describe.skipIf(cannotMount !== undefined)(titleWithReason("a read-only or full disk", cannotMount), () => {
  test("a new home on a read-only disk prints one sentence and exits 1", async () => {
    await using home = await temporaryHome()
    const result = await inNamespace(home, 'mount -t tmpfs -o ro tmpfs "$HERMES_HOME"; hermes -z hi')
    expect([result.code, result.stdout]).toEqual([1, ""])
    expectOneSentence(result, /read-only/)
  })

  test("a home that became read-only still answers, without saving", async () => {
    await using model = await startModelServer([repeat(says("Hello."))])
    await using home = await temporaryHome({ config: settingsFor(model) })
    await hermes(home, ["-z", "remember the beans"], { stdin: "inherit-null" })
    const script = 'mount --bind "$HERMES_HOME" "$HERMES_HOME"; mount -o remount,ro,bind "$HERMES_HOME"; '
    const result = await inNamespace(home, `${script} hermes -z hi`)
    expect([result.code, result.stdout]).toEqual([0, "Hello.\n"])
    expectOneSentence(result, /not saved/)
    const set = await inNamespace(home, `${script} hermes config set agent.max_turns 5`)
    expect(set.code).toBe(1)
    expectOneSentence(set, /read-only/)
    expect((await hermes(home, ["-z", "still there?", "--continue"], { stdin: "inherit-null" })).code).toBe(0)
    expect(model.view(model.requests.length - 1).messages[0]?.text).toBe("remember the beans")
  })

  test("a disk that fills up during a run stops the run with a message and keeps what was stored", async () => {
    const fill = callsTool("terminal", { command: 'head -c 4000000 /dev/zero > "$HERMES_HOME/fill"; true' })
    await using model = await startModelServer([says("Noted."), fill, repeat(says("Here."))])
    await using home = await temporaryHome()
    const result = await inNamespace(
      home,
      [
        'mount -t tmpfs -o size=1500k tmpfs "$HERMES_HOME"',
        `printf '%s' '${settingsFor(model, NO_SANDBOX)}' > "$HERMES_HOME/config.yaml"`,
        'hermes -z "remember the beans" >/dev/null',
        "hermes -z 'fill it' --continue --yolo >&2; echo fill $?",
        'rm "$HERMES_HOME/fill"',
        "hermes -z 'still there?' --continue; echo after $?",
      ].join("\n"),
    )
    expect(result.stdout).toBe("fill 1\nHere.\nafter 0\n")
    expect(result.stderr).toMatch(
      /^hermes -z: [^\n]*(?:disk|space)[^\n]*\n(?:Hermes stopped during a tool call[^\n]*\n)?$/,
    )
    const { messages } = model.view(model.requests.length - 1)
    expect(messages.map(({ text }) => text).filter((text) => text !== "")).toEqual([
      "remember the beans",
      "Noted.",
      "fill it",
      "still there?",
    ])
    expect(messages.flatMap(({ results }) => results)).toHaveLength(1)
  })

  test("a settings change on a full disk is reported and does not change the file", async () => {
    await using home = await temporaryHome()
    const result = await inNamespace(
      home,
      [
        'mount -t tmpfs -o size=200k tmpfs "$HERMES_HOME"',
        `printf 'agent:\\n  max_turns: 7 # mine\\n' > "$HERMES_HOME/config.yaml"`,
        'head -c 400000 /dev/zero > "$HERMES_HOME/fill" 2>/dev/null',
        "hermes config set agent.max_turns 5; echo set $?",
        'cat "$HERMES_HOME/config.yaml"; ls -A "$HERMES_HOME"',
      ].join("\n"),
    )
    expect(result.stdout).toMatch(/^set 1\nagent:\n {2}max_turns: 7 # mine\n/)
    expect(result.stdout).not.toContain("tmp")
    expectOneSentence(result, /no space left/)
  })
})

const STACK = /\n\s+at |node:internal|UnhandledPromise|internal error/

function expectOneSentence(result: Pick<ProcessResult, "stderr">, sentence: RegExp): void {
  expect(result.stderr).toMatch(sentence)
  expect(result.stderr).not.toMatch(STACK)
  expect(result.stderr.trimEnd().split("\n")).toHaveLength(1)
}

/** Runs a shell script in a private mount namespace; `hermes` is the built command. */
async function inNamespace(home: TemporaryHome, script: string): Promise<ProcessResult> {
  const [node, binary] = hermesCommand()
  const prelude = 'node=$0; binary=$1; hermes() { "$node" "$binary" "$@" </dev/null; }\n'
  return await runProcess({
    command: "unshare",
    args: ["-m", "-r", "bash", "-c", `${prelude}${script}`, node, binary],
    cwd: home.workdir,
    env: home.env,
  })
}
