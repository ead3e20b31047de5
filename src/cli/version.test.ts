import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { isRecord, parseJson } from "../base/json.ts"
import { MINIMUM_NODE_VERSION, nodeVersionProblem, VERSION, versionLine } from "./version.ts"

test("matches the version and the minimum Node version of package.json", () => {
  const manifest = parseJson(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
  expect(isRecord(manifest) && { version: manifest["version"], engines: manifest["engines"] }).toEqual({
    version: VERSION,
    engines: { node: `>=${MINIMUM_NODE_VERSION}` },
  })
})

test("the version line contains version, build and Node version", () => {
  expect(versionLine()).toBe(`hermes ${VERSION} (source) node ${process.versions.node}`)
})

test.each([
  ["20.20.2", false],
  ["24.14.9", false],
  ["24.15.0", true],
  ["24.21.0", true],
  ["25.0.0", true],
])("Node %s is new enough: %s", (version, enough) => {
  expect(nodeVersionProblem(version) === undefined).toBe(enough)
})
