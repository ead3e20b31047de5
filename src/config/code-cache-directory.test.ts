import { expect, test } from "vitest"

import { codeCacheDirectory } from "./code-cache-directory.ts"

test.each([
  [{ HOME: "/home/a" }, "/home/a/.hermes/cache/code"],
  [{ HOME: "/home/a", HERMES_HOME: " /srv/hermes " }, "/srv/hermes/cache/code"],
  [{ HOME: "/home/a", HERMES_HOME: "relative" }, undefined],
  [{ HOME: "/home/a", NODE_COMPILE_CACHE: "/var/code" }, "/var/code/hermes"],
  [{ HOME: "/home/a", NODE_COMPILE_CACHE: "compiled" }, undefined],
  [{ HOME: "/home/a", NODE_DISABLE_COMPILE_CACHE: "1" }, undefined],
  [{}, undefined],
])("with %j the code cache is %s", (variables, expected) => {
  expect(codeCacheDirectory(variables)).toBe(expected)
})
