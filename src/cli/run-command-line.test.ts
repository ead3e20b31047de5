import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { StoreError } from "../state/store.ts"
import { CliError, type Command, type CommandRun, type CommandTree } from "./command.ts"
import { COMMAND_TREE } from "./command-table/command-tree.ts"
import { createCliHome } from "../../test/support/cli-home.ts"

/** The real tree with one additional command. */
function treeWith(run: CommandRun): CommandTree {
  const command: Command = {
    name: "probe",
    summary: "probe",
    group: "maintenance",
    load: () => Promise.resolve({ run }),
  }
  return { ...COMMAND_TREE, commands: [...COMMAND_TREE.commands, command] }
}

describe("errors of a command", () => {
  test.each<[string, unknown, { code: number; err: string }]>([
    ["a user error", new CliError("no such thing", { exitCode: 2 }), { code: 2, err: "No such thing.\n" }],
    [
      "a busy database",
      new StoreError("locked", "the database is busy; try again"),
      { code: 1, err: "The database is busy; try again.\n" },
    ],
    [
      "a full disk",
      Object.assign(new Error("ENOSPC: x"), { code: "ENOSPC", syscall: "write", path: "/data/x" }),
      { code: 1, err: "Cannot use /data/x: no space left on the disk.\n" },
    ],
    [
      "a bug",
      new TypeError("x is not a function"),
      {
        code: 1,
        err: "Hermes stopped because of an internal error: x is not a function. Details: hermes logs errors\n",
      },
    ],
  ])("%s", async (_name, error, { code, err }) => {
    using home = createCliHome()
    const tree = treeWith(() => Promise.reject(error instanceof Error ? error : new Error("unreachable")))
    expect(await home.run(["probe"], { tree })).toEqual({ code, out: "", err })
  })

  test("writes the stack trace of a bug to errors.log without secrets", async () => {
    using home = createCliHome()
    const tree = treeWith(() => Promise.reject(new Error("with sk-abcdefghijklmnop1234")))
    await home.run(["probe"], { tree })
    const log = readFileSync(home.home.file("logs", "errors.log"), "utf8")
    expect(log).toMatch(/ ERROR cli: Error: with sk-abc\.\.\.1234\n\s+at /)
  })

  test("an error after a signal exits 130", async () => {
    using home = createCliHome()
    const tree = treeWith(() => Promise.reject(new Error("aborted")))
    expect(await home.run(["probe"], { tree, signal: AbortSignal.abort() })).toEqual({ code: 130, out: "", err: "" })
  })
})

describe("profiles", () => {
  const tree = treeWith(({ home, environment, terminal }) => {
    terminal.line(`${home.profile} ${environment.get("HERMES_HOME") === home.path}`)
    return Promise.resolve(0)
  })

  test("-p chooses the home at any position", async () => {
    using home = createCliHome()
    mkdirSync(home.home.file("profiles", "coder"), { recursive: true })
    const profile = { code: 0, out: "coder true\n", err: "" }
    expect(await home.run(["-p", "coder", "probe"], { tree })).toEqual(profile)
    expect(await home.run(["probe", "--profile=coder"], { tree })).toEqual(profile)
    expect(await home.run(["probe"], { tree })).toEqual({ code: 0, out: "default true\n", err: "" })
  })

  test("uses the active profile, and fails for a missing one", async () => {
    using home = createCliHome()
    mkdirSync(home.home.file("profiles", "coder"), { recursive: true })
    writeFileSync(home.home.file("active_profile"), "coder\n")
    expect((await home.run(["probe"], { tree })).out).toBe("coder true\n")
    const missing = await home.run(["-p", "unknown", "probe"], { tree })
    expect({ code: missing.code, out: missing.out }).toEqual({ code: 1, out: "" })
    expect(missing.err).toContain("unknown")
  })

  test("an invalid profile name is a usage error", async () => {
    using home = createCliHome()
    expect(await home.run(["-p", "Not a name!", "probe"], { tree })).toEqual({
      code: 2,
      out: "",
      err: "`Not a name!` is not a valid profile name. Use at most 64 lower-case letters, digits, - and _.\n",
    })
  })
})

describe("command lines that run no command", () => {
  test.each<[readonly string[], number]>([
    [["--help"], 0],
    [["cron", "--help"], 0],
    [["--version"], 0],
    [["cron", "list"], 1],
    [["login"], 1],
    [["nonsense"], 2],
  ])("%j exits %i", async (line, code) => {
    using home = createCliHome()
    expect((await home.run(line)).code).toBe(code)
  })
})
