import { mkdirSync, writeFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { formatLogLine, type LogLevel } from "../../base/log-line.ts"
import { createCliHome, type CliHome } from "../../../test/support/cli-home.ts"

function homeWithLogs(files: Record<string, string>): CliHome {
  const home = createCliHome()
  mkdirSync(home.home.file("logs"))
  for (const [name, text] of Object.entries(files)) writeFileSync(home.home.file("logs", name), text)
  return home
}

test("prints the last lines that pass the filters", async () => {
  const entry = (level: LogLevel, message: string): string =>
    formatLogLine({ time: Date.now(), level, session: undefined, logger: "agent", message })
  const [info, warning, error] = [entry("INFO", "a"), entry("WARNING", "b"), entry("ERROR", "c")]
  using home = homeWithLogs({ "agent.log": `${info}\n${warning}\n${error}\n` })
  expect(await home.run(["logs", "-n", "2"])).toEqual({ code: 0, out: `${warning}\n${error}\n`, err: "" })
  expect(await home.run(["logs", "--level", "error"])).toEqual({ code: 0, out: `${error}\n`, err: "" })
})

test("list names every file with size and age", async () => {
  using home = homeWithLogs({ "agent.log": "x".repeat(2048), "agent.log.1": "", "notes.txt": "" })
  expect(await home.run(["logs", "list"])).toEqual({
    code: 0,
    out: "agent.log    2.0 KB  just now\nagent.log.1     0 B  just now\n",
    err: "",
  })
})

describe("mistakes exit 2 and name the valid choices", () => {
  test.each([
    [["agnt"], "There is no log `agnt`. Did you mean `agent`? Use one of agent, errors, gateway, gui, list.\n"],
    [["--level", "loud"], "`loud` is not a level; use one of DEBUG, INFO, WARNING, ERROR, CRITICAL.\n"],
    [["--since", "2 weeks"], "`2 weeks` is not an age; write 45s, 30m, 2h or 1d.\n"],
    [["--component", "x"], "`x` is not a component; use one of gateway, agent, tools, cli, cron, gui.\n"],
    [["list", "--level", "error"], "`--level` cannot be used with `hermes logs list`.\n"],
  ])("%j", async (line, err) => {
    using home = homeWithLogs({ "agent.log": "one\n" })
    expect(await home.run(["logs", ...line])).toEqual({ code: 2, out: "", err })
  })
})

test("a log that does not exist exits 1", async () => {
  using home = homeWithLogs({ "agent.log": "one\n" })
  expect(await home.run(["logs", "gui"])).toEqual({
    code: 1,
    out: "",
    err: "~/.hermes/logs/gui.log does not exist yet; `hermes logs list` shows the existing logs.\n",
  })
})

test("listing a home without logs succeeds", async () => {
  using home = createCliHome()
  expect(await home.run(["logs", "list"])).toEqual({
    code: 0,
    out: "There are no log files in ~/.hermes/logs yet.\n",
    err: "",
  })
})

test("following exits 0 when the user interrupts it", async () => {
  using home = homeWithLogs({ "agent.log": "one\n" })
  expect(await home.run(["logs", "-f"], { signal: AbortSignal.abort() })).toEqual({ code: 0, out: "one\n", err: "" })
})

test("--json prints the files, or the lines of a log", async () => {
  using home = homeWithLogs({ "agent.log": "one\ntwo\n" })
  expect(JSON.parse((await home.run(["logs", "list", "--json"])).out)).toMatchObject([{ name: "agent.log" }])
  expect(JSON.parse((await home.run(["logs", "--json"])).out)).toEqual({ log: "agent", lines: ["one", "two"] })
  expect(JSON.parse((await home.run(["logs", "errors", "--json"])).out)).toEqual({ log: "errors", lines: [] })
  expect((await home.run(["logs", "--json", "-f"])).code).toBe(2)
})

test.each([
  [["hooks", "doctor"], { problems: [] }],
  [["skills", "check"], []],
  [["sessions", "repair", "--check-only"], { state: "missing" }],
  [["sessions", "repair"], { kind: "missing" }],
])("%j prints JSON", async (line, expected) => {
  using home = createCliHome()
  const { code, out } = await home.run([...line, "--json"])
  expect([code, JSON.parse(out)]).toEqual([0, expected])
})
