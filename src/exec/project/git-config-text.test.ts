import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { parseGitConfig, settingKey, settingText } from "./git-config-text.ts"

const TEXTS: readonly string[] = [
  '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://a.example/x ; comment\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
  '[remote "a]b"] url = x\n[Remote "Mixed"]\n PUSHURL = "a # b" c # d\n',
  '[a]\nb = one \\\n  two\\\n  three\nflag\nc = "x\\ty\\n\\"z\\"" \n',
  '[remote.Old]\nurl = y\n[remote.part "Sub"] url = z\r\n[b]\r\nc = d \\\r\n e\r\n',
  '\uFEFF# first\n; second\n[a "b\\"c\\\\d"] e=f\n[g]h = i\u00a0\n[k]\nl = \n',
]
const REFUSED: readonly string[] = [
  "[a\nb = c\n",
  "[a]\n= c\n",
  '[a]\nb = "c\n',
  "[a]\nb = \\x\n",
  "[a]\nb c\n",
  '[a "b\n"]\n',
]

test("settings are read as git reads them", async () => {
  await using home = await temporaryHome()
  const file = join(home.workdir, "config")
  const listed = (text: string): readonly string[] | undefined => {
    writeFileSync(file, text)
    try {
      const output = execFileSync("git", ["config", "--file", file, "--list", "-z"], {
        encoding: "utf8",
        stdio: "pipe",
      })
      return output.split("\0").slice(0, -1)
    } catch {
      // Git refuses the file.
      return undefined
    }
  }
  const parsed = (text: string): readonly string[] | undefined =>
    parseGitConfig(text)?.map((setting) => `${settingKey(setting)}\n${setting.value}`)
  // Git lists a name alone without a value.
  const expected = TEXTS.map((text) => listed(text)?.map((entry) => (entry.includes("\n") ? entry : `${entry}\ntrue`)))
  expect(TEXTS.map(parsed)).toEqual(expected)
  expect(REFUSED.map(parsed)).toEqual(REFUSED.map(listed))
  expect(REFUSED.map(parsed)).toEqual(REFUSED.map(() => undefined))
  for (const text of TEXTS) {
    const written = (parseGitConfig(text) ?? []).map(settingText).join("")
    expect(parsed(written)).toEqual(parsed(text))
    expect(listed(written)).toEqual(parsed(text))
  }
})
