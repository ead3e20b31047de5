import { chmodSync, statSync, writeFileSync } from "node:fs"
import { expect, test } from "vitest"
import { createCliHome } from "../../../test/support/cli-home.ts"

interface Report {
  readonly failures: number
  readonly warnings: number
  readonly sections: readonly {
    readonly title: string
    readonly findings: readonly { level: string; text: string; fix: string | null; fixable: boolean }[]
  }[]
}

const variables = { LANG: "C.UTF-8" }

test("the text report has marks, a numbered list of fixes, and no ANSI", async () => {
  using home = createCliHome()
  const { code, out } = await home.run(["doctor"], { variables })
  expect(code).toBe(0)
  expect(out).toMatch(/^Runtime\n {2}✓ Node /)
  expect(out).toMatch(/\nWhat to do\n {2}1\. /)
  expect(out).toContain("`hermes doctor --fix` repairs what can be repaired safely.\n")
  expect(out).not.toContain("\u001B")
})

test("--json counts failures and warnings and contains every section", async () => {
  using home = createCliHome()
  writeFileSync(home.home.file("config.yaml"), "a: [1\n", { mode: 0o600 })
  const { code, out } = await home.run(["doctor", "--json"], { variables })
  const report = JSON.parse(out) as Report
  const levels = report.sections.flatMap(({ findings }) => findings.map(({ level }) => level))
  expect([code, report.failures]).toEqual([1, 1])
  expect(report.warnings).toBe(levels.filter((level) => level === "warning").length)
  expect(report.sections.find(({ title }) => title === "Directories")?.findings).toMatchObject([
    { level: "warning", fix: "they are created on first use", fixable: true },
  ])
})

test("secrets never appear", async () => {
  using home = createCliHome()
  writeFileSync(home.home.file(".env"), "OPENAI_API_KEY=sk-0123456789abcdefghijklmn\n", { mode: 0o600 })
  writeFileSync(home.home.file("config.yaml"), "model:\n  base_url: http://127.0.0.1:9\n  default: m\n", {
    mode: 0o600,
  })
  const { out, err } = await home.run(["doctor"], { variables })
  expect(out + err).not.toContain("0123456789abcdef")
})

test("--fix announces its repairs and reports the home as it is afterwards", async () => {
  using home = createCliHome()
  writeFileSync(home.home.file(".env"), "A=b\n")
  chmodSync(home.home.file(".env"), 0o644)
  expect((await home.run(["doctor"], { variables })).code).toBe(1)
  const fixed = await home.run(["doctor", "--fix", "--json"], { variables })
  expect([fixed.code, fixed.err]).toEqual([
    0,
    "Making ~/.hermes/.env private.\nCreating cron, sessions, logs, memories, pairing, hooks, skills, cache.\n\n",
  ])
  expect((JSON.parse(fixed.out) as Report).failures).toBe(0)
  expect(statSync(home.home.file(".env")).mode & 0o777).toBe(0o600)
})

test("an unknown advisory is a usage error", async () => {
  using home = createCliHome()
  expect(await home.run(["doctor", "--ack", "HERMES-1"])).toEqual({
    code: 2,
    out: "",
    err: "There is no security advisory `HERMES-1`; `hermes doctor` lists them.\n",
  })
})
