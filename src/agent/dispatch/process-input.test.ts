import { readFileSync } from "node:fs"

import { expect, test } from "vitest"

import { judgeCommand } from "../../policy/judge-command.ts"
import { INITIAL_SHELL_STATE } from "../../policy/shell/understand-command.ts"
import { afterInput, judgeInput, NO_INPUT } from "./process-input.ts"
import type { InputJudgement, ProcessInput } from "./process-input.ts"

const HOME = "/home/alice"
const FACTS: InputJudgement["facts"] = {
  userHome: HOME,
  hermesHome: `${HOME}/.hermes`,
  hermesRoot: `${HOME}/.hermes`,
  workspaceRoot: "/w",
  hasSudoPassword: false,
}

async function judged(command: string, input: string, before: ProcessInput = NO_INPUT) {
  const state = INITIAL_SHELL_STATE("/w")
  const line = before.unfinished + input
  const found = await judgeInput(line, {
    before,
    started: { command, directory: "/w" },
    state,
    facts: FACTS,
    realPaths: (paths) => Promise.resolve(new Map(paths.map((path) => [path, path.replace("/w/link", HOME)]))),
    judge: (text, current) =>
      judgeCommand(text, {
        state: current,
        facts: FACTS,
        realPaths: () => Promise.resolve(new Map()),
        packageScripts: () => Promise.resolve(new Map()),
      }),
  })
  const sent = { line: `${line}\n`, initial: state, userHome: HOME, isShell: found.isShell }
  const after = afterInput(before, sent)
  return { ...found, after: found.mayBeShell === true ? { ...after, mayBeShell: found.mayBeShell } : after }
}

interface Row {
  readonly program: string
  readonly input: string
  readonly expect: "hard" | "stopped" | "runs"
}

test("input is judged by what the program makes of it", async () => {
  const rows = readFileSync(new URL("../../../test/fixtures/permissions/program-input.jsonl", import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Row)
  const wrong: unknown[] = []
  for (const row of rows) {
    const { verdict } = (await judged(row.program, row.input)).command
    const isRight =
      row.expect === "hard"
        ? verdict.level === "hardline"
        : row.expect === "stopped"
          ? verdict.level !== "ok"
          : verdict.level === "ok"
    if (!isRight) wrong.push([row.program, row.input, row.expect, verdict.findings.map(({ key }) => key)])
  }
  expect(wrong).toEqual([])
})

test("a link in the project that leads out of it is followed", async () => {
  expect((await judged("xargs cat", "link/.ssh/id_rsa")).command.verdict.level).toBe("ask")
})

test("after code that may have opened a shell, input is judged as command lines too", async () => {
  const { after, command } = await judged("python3", "import pty; pty.spawn('bash')")
  expect(command.verdict.level).toBe("ask")
  expect((await judged("python3", "crontab -r", NO_INPUT)).command.verdict.level).toBe("ok")
  expect((await judged("python3", "crontab -r", after)).command.verdict.level).toBe("ask")
})

test("a quote that is open for a shell does not hold back the input of another program", async () => {
  const { after } = await judged("python3", `print("it's")`)
  expect(after.unfinished).toBe("")
})

test("text that a process writes to a file is known to later commands", async () => {
  const { written } = await judged("cat > t.sh", "rm -rf ~")
  expect(written?.files?.get("/w/t.sh")).toContain("rm -rf ~")
})

test.each(["gdb ./app", "python3", "vim x", "sqlite3 x.db", "xargs cat"])(
  "long input for %s is judged in bounded time",
  async (program) => {
    for (const piece of ["a.", "bt  ", "../", "a/", "'", "( ", ":", "x ", "\\"]) {
      const started = process.cpuUsage() // CPU time, because a busy machine delays everything
      await judged(program, `${piece.repeat(20_000 / piece.length)}!`)
      expect(process.cpuUsage(started).user / 1000).toBeLessThan(3000)
    }
  },
)
