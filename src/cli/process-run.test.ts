import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { createCliHome, type CliHome } from "../../test/support/cli-home.ts"

const ENTRY = fileURLToPath(new URL("./launch/hermes.ts", import.meta.url))

function runHermes(home: CliHome, line: readonly string[], stdout: "pipe" | number = "pipe") {
  return spawnSync(process.execPath, [ENTRY, ...line], {
    env: home.variables,
    encoding: "utf8",
    stdio: ["ignore", stdout, "pipe"],
  })
}

function follow(home: CliHome, text: string) {
  mkdirSync(home.home.file("logs"))
  writeFileSync(home.home.file("logs", "agent.log"), text)
  return spawn(process.execPath, [ENTRY, "logs", "-f"], { env: home.variables, stdio: ["ignore", "pipe", "pipe"] })
}

describe("a real process", () => {
  test("prints version and help without touching the home", () => {
    using home = createCliHome()
    expect(runHermes(home, ["--version"])).toMatchObject({
      status: 0,
      stderr: "",
      stdout: expect.stringMatching(/^hermes \d+\.\d+\.\d+ \(source\) node 24\./),
    })
    expect(runHermes(home, ["--help"])).toMatchObject({
      status: 0,
      stderr: "",
      stdout: expect.stringContaining("Usage"),
    })
    expect(runHermes(home, ["sessions", "--help"])).toMatchObject({ status: 0, stderr: "" })
  })

  test("exits with the code of the command", () => {
    using home = createCliHome()
    expect(runHermes(home, ["nonsense"])).toMatchObject({ status: 2, stdout: "" })
    expect(runHermes(home, ["cron"])).toMatchObject({ status: 1, stdout: "" })
    expect(runHermes(home, ["config", "path"])).toMatchObject({ status: 0, stdout: `${home.home.path}/config.yaml\n` })
  })

  test("a reader that closes the pipe is not an error", () => {
    using home = createCliHome()
    mkdirSync(home.home.file("logs"))
    writeFileSync(home.home.file("logs", "agent.log"), "x".repeat(99).concat("\n").repeat(20_000))
    const script = `"$0" "$1" logs -n 20000 | head -1; echo "\${PIPESTATUS[0]}"`
    const result = spawnSync("bash", ["--norc", "-c", script, process.execPath, ENTRY], {
      env: home.variables,
      encoding: "utf8",
    })
    expect(result).toMatchObject({ stdout: `${"x".repeat(99)}\n0\n`, stderr: "" })
  })

  test("closed standard streams are not an error", () => {
    using home = createCliHome()
    const result = spawnSync(
      "bash",
      ["--norc", "-c", `"$0" "$1" --help <&- >&- 2>&-; echo $?`, process.execPath, ENTRY],
      {
        env: home.variables,
        encoding: "utf8",
      },
    )
    expect(result.stdout).toBe("0\n")
  })

  test("a full disk behind stdout prints one sentence and exits 1", () => {
    using home = createCliHome()
    const full = openSync("/dev/full", "w")
    const result = runHermes(home, ["sessions", "list"], full)
    closeSync(full)
    expect(result).toMatchObject({
      status: 1,
      stderr: "Could not write to standard output: no space left on the disk.\n",
    })
  })
})

describe("signals", () => {
  test("the first signal ends `logs -f` with exit code 0", async () => {
    using home = createCliHome()
    const child = follow(home, "one\n")
    let out = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text
      if (out === "one\n") appendFileSync(home.home.file("logs", "agent.log"), "two\n")
      if (out === "one\ntwo\n") child.kill("SIGINT")
    })
    const [code, signal] = await once(child, "close")
    expect({ code, signal, out }).toEqual({ code: 0, signal: null, out: "one\ntwo\n" })
  })

  test("`logs -f` ends when its reader closes the pipe", async () => {
    using home = createCliHome()
    const child = follow(home, "one\n")
    let err = ""
    child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text))
    await once(child.stdout, "data")
    child.stdout.destroy()
    const writer = setInterval(() => appendFileSync(home.home.file("logs", "agent.log"), "more\n"), 20)
    const [code] = await once(child, "close")
    clearInterval(writer)
    expect({ code, err }).toEqual({ code: 0, err: "" })
  })
})

describe("last-resort handlers", () => {
  test("a second signal ends a command that ignores the first", async () => {
    using home = createCliHome()
    const script = `${home.directory}/stuck.mjs`
    writeFileSync(
      script,
      `import { runOnProcess } from ${JSON.stringify(new URL("./process-run.ts", import.meta.url).href)}
       import { COMMAND_TREE } from ${JSON.stringify(new URL("./command-table/command-tree.ts", import.meta.url).href)}
       const run = ({ terminal }) => { terminal.line("stuck"); return new Promise((resolve) => setTimeout(resolve, 60_000)) }
       const stuck = { name: "stuck", summary: "", group: "maintenance", load: () => Promise.resolve({ run }) }
       await runOnProcess(["stuck"], { ...COMMAND_TREE, commands: [...COMMAND_TREE.commands, stuck] })`,
    )
    const child = spawn(process.execPath, [script], { env: home.variables, stdio: ["ignore", "pipe", "inherit"] })
    await once(child.stdout, "data")
    const repeatedSignal = setInterval(() => child.kill("SIGTERM"), 50)
    const [code, signal] = await once(child, "close")
    clearInterval(repeatedSignal)
    expect({ code, signal }).toEqual({ code: 130, signal: null })
  })

  test.each([
    "throw new Error('boom sk-abcdefghijklmnop1234')",
    "Promise.reject(new Error('boom sk-abcdefghijklmnop1234'))",
  ])("%s prints one sentence, writes a log entry and exits 1", (bug) => {
    using home = createCliHome()
    mkdirSync(home.home.file("logs"))
    writeFileSync(home.home.file("logs", "agent.log"), "")
    const injectedCode = `const timer = setInterval(() => { if (process.listenerCount("uncaughtException") > 0) { clearInterval(timer); ${bug} } }, 10)`
    const result = spawnSync(
      process.execPath,
      ["--import", `data:text/javascript,${encodeURIComponent(injectedCode)}`, ENTRY, "logs", "-f"],
      {
        env: home.variables,
        encoding: "utf8",
      },
    )
    expect(result).toMatchObject({
      status: 1,
      stdout: "",
      stderr: "Hermes stopped because of an internal error: boom sk-abc...1234. Details: hermes logs errors\n",
    })
    expect(readFileSync(home.home.file("logs", "errors.log"), "utf8")).toMatch(
      / ERROR cli: Error: boom sk-abc\.\.\.1234\n/,
    )
  })
})

test("the start-up path imports no file of the layers above config", () => {
  const reached = new Set<string>()
  const visit = (url: URL): void => {
    const path = fileURLToPath(url)
    if (reached.has(path)) return
    reached.add(path)
    for (const [, kind, specifier = ""] of readFileSync(path, "utf8").matchAll(
      /^(?:import|export)(\s+type)?\b[^"]*?from "(\.[^"]+)"/gm,
    )) {
      if (kind === undefined) visit(new URL(specifier, url))
    }
  }
  visit(new URL("./process-run.ts", import.meta.url))
  visit(new URL("./command-line/help.ts", import.meta.url))
  const layers = [...reached].map((path) => /\/src\/([^/]+)\//.exec(path)?.[1] ?? "")
  expect([...new Set(layers)].toSorted()).toEqual(["base", "cli", "config", "terminal"])
  expect([...reached].filter((path) => path.includes("/cli/commands/"))).toEqual([])
})
