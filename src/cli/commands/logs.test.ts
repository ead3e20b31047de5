import { mkdirSync, writeFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { formatLogLine, type LogLevel } from "../../base/log-line.ts"
import { createTestHome, type TestHome } from "../../../test/support/command-run.ts"

const NOW = Date.now()
const entry = (
  minutesAgo: number,
  level: LogLevel,
  rest: { logger?: string; session?: string; text: string },
): string =>
  formatLogLine({
    time: NOW - minutesAgo * 60_000,
    level,
    session: rest.session,
    logger: rest.logger ?? "agent",
    message: rest.text,
  })

const LINES = [
  entry(300, "INFO", { text: "old" }),
  entry(90, "ERROR", { logger: "tools.web", session: "s_abc", text: "failed\n  at a.ts\n  at b.ts" }),
  entry(40, "DEBUG", { logger: "cli.main", text: "detail" }),
  entry(20, "WARNING", { logger: "gateway.telegram", session: "s_def", text: "slow" }),
  entry(1, "INFO", { logger: "agentless", text: "new" }),
].join("\n")

function homeWithLogs(files: Record<string, string>): TestHome {
  const home = createTestHome()
  mkdirSync(home.home.file("logs"))
  for (const [name, text] of Object.entries(files)) writeFileSync(home.home.file("logs", name), text)
  return home
}

/** The last words of each line, which tell them apart. */
const ends = (out: string): readonly string[] =>
  out
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/: |\s+at /).at(-1) ?? "")

describe("filters", () => {
  test.each<[readonly string[], readonly string[]]>([
    [[], ["old", "failed", "a.ts", "b.ts", "detail", "slow", "new"]],
    [
      ["-n", "2"],
      ["slow", "new"],
    ],
    [["-n", "0"], [""]],
    [
      ["--level", "warning"],
      ["failed", "a.ts", "b.ts", "slow"],
    ],
    [
      ["--since", "30m"],
      ["a.ts", "b.ts", "slow", "new"],
    ],
    [
      ["--since", "2h", "--level", "ERROR"],
      ["failed", "a.ts", "b.ts"],
    ],
    [
      ["--session", "abc"],
      ["failed", "a.ts", "b.ts"],
    ],
    [
      ["--component", "tools"],
      ["failed", "a.ts", "b.ts"],
    ],
    [["--component", "agent"], ["old"]],
    [["--component", "cli", "--level", "INFO"], [""]],
    [["--component", "gateway", "-n", "1"], ["slow"]],
  ])("%j", async (flags, expected) => {
    using home = homeWithLogs({ "agent.log": `${LINES}\n` })
    const { code, out, err } = await home.run(["logs", ...flags])
    expect({ code, ends: ends(out), err }).toEqual({ code: 0, ends: expected, err: "" })
  })
})

test("older parts are read when the newest has too few lines", async () => {
  using home = homeWithLogs({ "errors.log": "d\n", "errors.log.1": "b\nc\n", "errors.log.2": "a\n" })
  expect((await home.run(["logs", "errors", "-n", "3"])).out).toBe("b\nc\nd\n")
  expect((await home.run(["logs", "errors"])).out).toBe("a\nb\nc\nd\n")
})

test("list names every file with size and age", async () => {
  using home = homeWithLogs({ "agent.log": "x".repeat(2048), "agent.log.1": "", "notes.txt": "" })
  expect(await home.run(["logs", "list"])).toEqual({
    code: 0,
    out: "agent.log       2.0 KB  just now\nagent.log.1        0 B  just now\n",
    err: "",
  })
})

describe("mistakes exit 1 and name what would work", () => {
  test.each([
    [["agnt"], "There is no log `agnt`. Did you mean `agent`? Use one of agent, errors, gateway, gui, list.\n"],
    [["gui"], "~/.hermes/logs/gui.log does not exist yet; `hermes logs list` shows what there is.\n"],
    [["--level", "loud"], "`loud` is not a level; use one of DEBUG, INFO, WARNING, ERROR, CRITICAL.\n"],
    [["--since", "2 weeks"], "`2 weeks` is not an age; write 45s, 30m, 2h or 1d.\n"],
    [["--component", "x"], "`x` is not a component; use one of gateway, agent, tools, cli, cron, gui.\n"],
  ])("%j", async (line, err) => {
    using home = homeWithLogs({ "agent.log": LINES })
    expect(await home.run(["logs", ...line])).toEqual({ code: 1, out: "", err })
  })
})

test("a home without logs is no mistake for the list", async () => {
  using home = createTestHome()
  expect(await home.run(["logs", "list"])).toEqual({
    code: 0,
    out: "There are no log files in ~/.hermes/logs yet.\n",
    err: "",
  })
})

test("following ends with exit 0 when the person stops it", async () => {
  using home = homeWithLogs({ "agent.log": "one\n" })
  expect(await home.run(["logs", "-f"], { signal: AbortSignal.abort() })).toEqual({ code: 0, out: "one\n", err: "" })
})
