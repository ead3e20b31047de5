import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { calledByHooks } from "./called-by-hooks.ts"
import { isNamedByGit } from "./named-by-settings.ts"

const FILES = [
  ".pre-commit-run",
  "scripts/check.mjs",
  "scripts/lint.sh",
  "tools/fmt",
  "common.sh",
  "package.json",
  "src/data.txt",
  "node_modules/.bin/lint-staged",
  "my-hooks/pre-push",
]

async function project(hooks: Readonly<Record<string, string>>) {
  const home = await temporaryHome()
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(home.workdir, name)), { recursive: true })
    writeFileSync(join(home.workdir, name), text)
  }
  for (const name of FILES) write(name, "")
  write(".git/config", "")
  for (const [name, text] of Object.entries(hooks)) write(name, text)
  return home
}

test.each([
  ["exec sh ./.pre-commit-run", [".pre-commit-run"]],
  ["./tools/fmt --check && node scripts/check.mjs", ["scripts/check.mjs", "tools/fmt"]],
  ["if ! bash -e scripts/lint.sh; then exit 1; fi", ["scripts/lint.sh"]],
  ['. "common.sh"', ["common.sh"]],
  ["#!/bin/sh\n# sh scripts/lint.sh\nexec tools/fmt", ["tools/fmt"]],
  ["git diff --name-only | grep -q package.json && npm test", []],
  ["cat src/data.txt; node_modules/.bin/lint-staged", []],
  ["sh ../outside.sh; sh /etc/passwd; sh scripts/missing.sh", []],
  ["#!/usr/bin/env node\nnpx lint-staged", []],
])("%j starts %j", async (text, expected) => {
  await using home = await project({ ".git/hooks/pre-commit": text, ".git/hooks/pre-push.sample": "sh common.sh" })
  const found = calledByHooks(home.workdir, []).map((path) => path.slice(home.workdir.length + 1))
  expect(found.toSorted()).toEqual(expected)
})

test("hooks of husky and of the directory in the settings count; file tools ask too", async () => {
  await using home = await project({
    ".husky/pre-commit": "node scripts/check.mjs",
    "my-hooks/pre-push": "./tools/fmt",
    ".git/config": "[core]\n\thooksPath = my-hooks\n",
  })
  chmodSync(join(home.workdir, "my-hooks/pre-push"), 0o755)
  const found = calledByHooks(home.workdir, [join(home.workdir, "my-hooks")])
  expect(found).toEqual([join(home.workdir, "scripts/check.mjs"), join(home.workdir, "tools/fmt")])
  const asks = (name: string): boolean =>
    isNamedByGit(join(home.workdir, name), { root: home.workdir, userHome: home.userHome })
  expect(["tools/fmt", "scripts/check.mjs", "my-hooks/pre-push", "common.sh"].map(asks)).toEqual([
    true,
    true,
    true,
    false,
  ])
})
