import { expect, test } from "vitest"

import { createLogger } from "../../base/logger.ts"
import { environmentFrom } from "../../config/environment.ts"
import { resolveHome } from "../../config/home.ts"
import { loadConfig } from "../../config/load-config.ts"
import type { WorkspaceKind } from "../../exec/workspace.ts"
import { createToolRegistry } from "../../toolkit/registry.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { selectTools } from "./session-tools.ts"

const entry = (name: string, toolset: string): ToolEntry => ({
  name,
  toolset,
  description: "",
  parameters: {},
  source: { kind: "builtin" },
  load: () => Promise.reject(new Error("not loaded")),
})

async function selected(
  toolsets: readonly string[],
  fromFacets: readonly ToolEntry[],
  config = "",
  kind: WorkspaceKind = "local",
) {
  await using testHome = await temporaryHome({ config })
  const environment = environmentFrom(testHome.env)
  const log = createLogger({ sinks: [], redact: (text) => text })
  const registry = createToolRegistry({ log })
  const snapshots = { ...entry("snapshots", "file"), localOnly: true }
  for (const tool of [entry("memory", "memory"), entry("read_file", "file"), snapshots]) registry.register(tool)
  const settings = await loadConfig({ home: resolveHome(environment), environment })
  const { entries, definitions } = selectTools(
    { toolsets, fromFacets, workspace: { kind } },
    { config: settings, registry, log, environment },
  )
  expect(new Set(definitions.map(({ name }) => name))).toEqual(new Set(entries.keys()))
  return definitions.map(({ name }) => name)
}

test("tools of a facet follow the toolset they belong to", async () => {
  const recall = entry("external_recall", "memory")
  expect(await selected(["memory", "file"], [recall])).toEqual(["external_recall", "memory", "read_file", "snapshots"])
  expect(await selected(["file"], [recall])).toEqual(["read_file", "snapshots"])
})

test("a facet may bring its own toolset, which the settings can disable", async () => {
  const weather = entry("get_weather", "weather")
  expect(await selected(["file"], [weather])).toEqual(["get_weather", "read_file", "snapshots"])
  expect(await selected(["file"], [weather], "agent:\n  disabled_toolsets: [weather]\n")).toEqual([
    "read_file",
    "snapshots",
  ])
})

test("a tool that works only on this machine is left out of other workspaces", async () => {
  const own = { ...entry("own", "mine"), localOnly: true }
  expect(await selected(["file"], [own])).toEqual(["own", "read_file", "snapshots"])
  expect(await selected(["file"], [own], "", "ssh")).toEqual(["read_file"])
})
