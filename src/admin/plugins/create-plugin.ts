import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { makeDirectories } from "../../base/make-directories.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { isPluginName, PLUGIN_KINDS } from "../../plugins/manifest.ts"
import { failed, invalid } from "../failure.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"

/** Writes a working plugin with a test into the home. It is not enabled. Returns its folder. */
export function createPlugin({ home }: HomeContext, name: string, kind: string): Result<string, AdminFailure> {
  if (!isPluginName(name)) return invalid(`${JSON.stringify(name)} cannot be a name: use letters, digits, - and _`)
  if (!PLUGIN_KINDS.some((known) => known === kind))
    return invalid(`there is no kind ${kind}; use ${PLUGIN_KINDS.join(", ")}`)
  const directory = home.file("plugins", name)
  if (existsSync(directory)) return failed(`${home.display(directory)} exists already`)
  makeDirectories(directory)
  for (const [file, text] of Object.entries(skeleton(name, kind))) writeFileSync(join(directory, file), text)
  return ok(directory)
}

function skeleton(name: string, kind: string): Readonly<Record<string, string>> {
  const tool = `${name.toLowerCase().replaceAll(/[^a-z0-9]/gu, "_")}_hello`
  return {
    "plugin.yaml": `name: ${name}
version: 0.1.0
description: Describe in one sentence what the plugin does.
manifest_version: 1
kind: ${kind}
capabilities: [tools, hooks]
provides_tools: [${tool}]
`,
    "index.mjs": `/** @param {import("hermes-agent/plugin").PluginContext} context */
export default function register(context) {
  context.registerTool({
    name: "${tool}",
    description: "Greets somebody by name.",
    input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    access: "read",
    run: ({ name }) => ({ greeting: \`Hello, \${name}!\` }),
  })
  context.registerHook("post_tool_call", ({ tool_name, duration_ms }) => {
    context.logger.debug(\`\${tool_name} took \${duration_ms} ms\`)
  })
}
`,
    "index.test.mjs": `import assert from "node:assert/strict"
import test from "node:test"

import register from "./index.mjs"

test("the tool greets", () => {
  const tools = []
  register({ registerTool: (tool) => tools.push(tool), registerHook: () => undefined })
  assert.deepEqual(tools[0].run({ name: "Ada" }), { greeting: "Hello, Ada!" })
})
`,
  }
}
