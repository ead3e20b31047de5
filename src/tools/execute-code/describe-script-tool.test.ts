import { expect, test } from "vitest"

import { builtinEntries } from "../../toolkit/builtin-entries.ts"
import { BUILTIN_TOOLS } from "../builtins.ts"
import { TOOL_MANIFEST } from "../manifest.generated.ts"
import { describeScriptTool } from "./describe-script-tool.ts"

const settings = {
  mode: "project",
  location: "host",
  timeoutSeconds: 300,
  maxToolCalls: 50,
  maxStdoutBytes: 50_000,
  maxStderrBytes: 10_000,
  memoryMb: 512,
} as const

test("the description lists the functions of the session, without what scripts cannot pass", () => {
  const tools = builtinEntries(TOOL_MANIFEST, BUILTIN_TOOLS)
  const definition = tools.find(({ role }) => role === "script")
  if (definition === undefined) throw new Error("there is no tool for scripts")
  const described = describeScriptTool(definition, {
    tools: tools.filter(({ name }) => name !== "patch"),
    languages: ["javascript", "typescript"],
    settings,
    isInProject: true,
  })
  expect(described.description).toContain("Functions: read_file(path, offset?, limit?) → content")
  expect(described.description).toContain("terminal(command, timeout?, workdir?) → output, exit_code")
  expect(described.description).not.toMatch(/patch\(|memory\(|Python|execute_code\(/u)
  expect(described.parameters).toHaveProperty("properties.language.enum", ["javascript", "typescript"])
  expect(described.description.length).toBeLessThan(1200)
})
