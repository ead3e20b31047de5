import { expect, test } from "vitest"
import { similarNames } from "./similar-names.ts"

test("names are ranked: case, stem, prefix, contains, contained, letters; ties by name", () => {
  const names = [
    "zzz.bin",
    "tamiocnf.ts",
    "Config.ts",
    "config.js",
    "config.ts.bak",
    "my-config.ts.old",
    "fig",
    "qqq.ts",
  ]
  expect(similarNames("config.ts", names, ".ts")).toEqual([
    "Config.ts",
    "config.js",
    "config.ts.bak",
    "my-config.ts.old",
    "fig",
  ])
})

test("at most five names, and only similar ones", () => {
  expect(similarNames("a.ts", ["a1", "a2", "a3", "a.md", "b"], "")).toEqual(["a.md"])
  expect(similarNames("app", ["app1", "app2", "app3", "app4", "app5", "app6"], "")).toEqual([
    "app1",
    "app2",
    "app3",
    "app4",
    "app5",
  ])
  expect(similarNames("x", [], "")).toEqual([])
})
