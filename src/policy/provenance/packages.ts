import { programName } from "../commands/invocation.ts"
import type { SimpleCommand } from "../shell/understood-command.ts"

interface Installer {
  readonly program: RegExp
  /** The subcommand before the names; absent where the first operand is a name. */
  readonly subcommand?: RegExp
  /** Only the first operand is a package; the rest are its arguments. */
  readonly firstOnly?: true
}

const INSTALLERS: readonly Installer[] = [
  { program: /^(?:npm|pnpm|yarn|bun)$/u, subcommand: /^(?:install|i|add|isntall|in)$/u },
  { program: /^(?:npm|pnpm|yarn|bun)$/u, subcommand: /^(?:exec|x|dlx|create|init)$/u, firstOnly: true },
  { program: /^(?:npx|bunx|pnpx|uvx|pipx)$/u, firstOnly: true },
  { program: /^pip[\d.]*$/u, subcommand: /^(?:install|download|wheel)$/u },
  {
    program:
      /^(?:poetry|uv|pdm|rye|hatch|cargo|composer|mix|dart|flutter|deno|nimble|opam|cabal|stack|luarocks|cpanm?)$/u,
    subcommand: /^(?:add|install|require|get)$/u,
  },
  { program: /^(?:go)$/u, subcommand: /^(?:install|get)$/u },
  {
    program: /^(?:gem|brew|apt|apt-get|dnf|yum|apk|pacman|zypper|snap|flatpak|conda|mamba|choco|winget|code)$/u,
    subcommand: /^(?:install|add|-S|--install-extension)$/u,
  },
  { program: /^(?:docker|podman)$/u, subcommand: /^(?:pull|run)$/u, firstOnly: true },
]

/** The names of packages that a command installs or runs from a registry, without versions. Well-known ones are left out. */
export function installedPackages(command: SimpleCommand): readonly string[] {
  const { program, words } = withoutModuleRunner(command)
  const isRunner = command.wrappers.some((wrapper) => RUNNERS.test(programName(wrapper.program)))
  const run = isRunner ? command.argv.slice(0, 1).map(({ text }) => text) : []
  const installed = INSTALLERS.filter((installer) => installer.program.test(program)).flatMap(
    ({ subcommand, firstOnly }) => {
      const operands = operandsOf(words)
      const from = subcommand === undefined ? 0 : operands.findIndex((word) => subcommand.test(word)) + 1
      if (subcommand !== undefined && from === 0) return []
      return operands.slice(from, firstOnly === true ? from + 1 : undefined)
    },
  )
  return [...installed, ...run]
    .map(withoutVersion)
    .filter((name) => name !== "" && !isLocal(name) && !isWellKnown(name))
}

/** `npm install $(cat file)`: what is installed cannot be read, and may be an address. */
export function installsUnknown({ program = "", argv }: SimpleCommand): boolean {
  const words = argv.slice(1)
  const pip = words.findIndex(({ text }) => text === "pip")
  const name = pip === -1 ? programName(program) : "pip"
  return INSTALLERS.some(({ program: installer, subcommand = /^/u }) => {
    const from = installer.test(name) ? words.findIndex(({ text }, index) => index > pip && subcommand.test(text)) : -1
    return from !== -1 && words.slice(from).some(({ known, text }) => !known && /^[$`]/u.test(text))
  })
}

/** Installed in so many projects that a text which mentions the package proves nothing. */
export function isWellKnown(name: string): boolean {
  return WELL_KNOWN.has(name.toLowerCase())
}

/** Programs that start a package by its name. */
const RUNNERS = /^(?:npx|bunx|pnpx|uvx|pipx)$/u

/** `python -m pip install x`, `uv pip install x`. */
function withoutModuleRunner({ program = "", argv }: SimpleCommand): {
  readonly program: string
  readonly words: readonly string[]
} {
  const words = argv.slice(1).map(({ text }) => text)
  const pip = words.indexOf("pip")
  return pip === -1 ? { program: programName(program), words } : { program: "pip", words: words.slice(pip + 1) }
}

const VALUED =
  /^(?:-r|-c|-e|-t|--requirement|--constraint|--target|--prefix|-w|--workspace|--filter|-C|--dir|--name|-v|-p|-u|--volume|--publish|--network|--mount|--entrypoint|--user|--cpus|-m|--memory|-l|--platform|--group|-G|--python)$/u

function operandsOf(words: readonly string[]): readonly string[] {
  return words.filter((word, index) => (!word.startsWith("-") || word === "-S") && !VALUED.test(words[index - 1] ?? ""))
}

function withoutVersion(name: string): string {
  return name.replace(/(?<=.)@[^/]*$|[=<>~!^[;].*$/u, "")
}

function isLocal(name: string): boolean {
  return /^(?:\.{1,2}(?:\/|$)|\/|~)/u.test(name) || /\.(?:whl|tgz|tar\.gz|txt|deb|rpm)$/u.test(name)
}

const WELL_KNOWN: ReadonlySet<string> = new Set(
  (
    "typescript react react-dom vue svelte next express koa fastify lodash axios zod vite vitest jest mocha chai eslint prettier webpack rollup esbuild " +
    "tsx ts-node nodemon dotenv chalk commander yargs uuid dayjs moment date-fns rxjs redux tailwindcss postcss sass husky lint-staged turbo nx pnpm yarn " +
    "npm cross-env rimraf concurrently playwright puppeteer cypress storybook prisma typeorm mongoose pg mysql2 sqlite3 better-sqlite3 redis ioredis ws " +
    "socket.io cors helmet morgan multer bcrypt jsonwebtoken passport graphql apollo-server @types/node @types/react @types/jest create-react-app " +
    "create-vite create-next-app tsc oxlint knip serve http-server pip setuptools wheel requests numpy pandas scipy matplotlib seaborn scikit-learn " +
    "torch torchvision tensorflow keras transformers flask django fastapi uvicorn gunicorn starlette pydantic sqlalchemy alembic psycopg2 " +
    "psycopg2-binary pymysql pytest pytest-cov pytest-asyncio tox nox black ruff flake8 mypy isort pylint coverage hypothesis poetry uv pipenv virtualenv " +
    "pre-commit click typer rich tqdm pyyaml toml jinja2 httpx aiohttp beautifulsoup4 lxml pillow opencv-python celery boto3 jupyter notebook ipython " +
    "python-dotenv cryptography attrs build twine serde serde_json tokio anyhow thiserror clap reqwest rand regex log env_logger tracing chrono rayon " +
    "itertools cargo-watch cargo-edit bundler rails rspec rake rubocop sinatra puma git curl wget jq make cmake gcc g++ build-essential python3 " +
    "python3-pip python3-venv nodejs ripgrep tree vim tmux htop unzip zip sqlite3 postgresql-client docker docker-compose ca-certificates pkg-config " +
    "libssl-dev postgres mysql nginx redis alpine ubuntu debian node python golang busybox hello-world"
  ).split(" "),
)
