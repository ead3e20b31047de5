import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

import { expect, test } from "vitest"

import { startConformanceServer } from "../../support/mcp/conformance-server.ts"
import { requirementsOf, REVISIONS, runServerSuite, runSuite } from "../../support/mcp/conformance-suite.ts"
import { UNCHANGED_SCENARIOS } from "../../support/mcp/unchanged-scenarios.ts"

const CLIENT = fileURLToPath(new URL("../../support/mcp/conformance-client.ts", import.meta.url))
const GUIDE = new URL("../../../docs/guides/mcp.md", import.meta.url)

test.each(REVISIONS)(
  "the client passes every scenario of %s",
  async (version) => {
    const command = `${process.execPath} ${CLIENT}`
    const given = ["--command", command, "--suite", "all", "--timeout", "110000", "--spec-version", version]
    const { output, scenarios } = await runSuite(["client", ...given])
    expect(output.split("\n").filter((line) => line.startsWith("✗"))).toEqual([])
    expect(requirementsOf(version).client.filter((name) => !scenarios.has(name))).toEqual([])
  },
  240_000,
)

test("the server passes every required scenario, and the guide has the results", async ({ annotate }) => {
  await using server = await startConformanceServer()
  const rows = new Map<string, Record<string, string>>()
  for (const version of REVISIONS) {
    const { output, scenarios } = await runServerSuite(server.url, version, isOffered)
    const required = requirementsOf(version).server
    expect(required.filter((name) => !scenarios.has(name))).toEqual([])
    for (const [name, { failed }] of scenarios) {
      if (!isOffered(name)) continue
      expect(failed, `${name}\n${output}`).toBe(0)
      rows.set(name, { ...rows.get(name), [version]: required.includes(name) ? "passes" : "passes, not required" })
    }
  }
  const table = [...rows].map(([name, results]) => {
    const how = HOW[name] ?? (UNCHANGED_SCENARIOS.includes(name) ? "`hermes mcp serve --http`" : "with a fixture")
    return `| ${[`\`${name}\``, ...REVISIONS.map((version) => results[version] ?? "–"), how].join(" | ")} |`
  })
  await annotate(table.join("\n"))
  expect(
    readFileSync(GUIDE, "utf8")
      .split("\n")
      .filter((line) => line.startsWith("| `")),
  ).toEqual(table)
}, 120_000)

/** Hermes does not offer the extension for tasks. */
const isOffered = (scenario: string): boolean => !scenario.startsWith("tasks-")

const BEHIND_THE_DOOR = "with a test tool, judged and audited like any other"
const HOW: Readonly<Record<string, string>> = {
  "tools-call-simple-text": BEHIND_THE_DOOR,
  "tools-call-error": BEHIND_THE_DOOR,
  "tools-call-with-progress": BEHIND_THE_DOOR,
  "tools-call-elicitation": "with a test tool that needs approval",
}
