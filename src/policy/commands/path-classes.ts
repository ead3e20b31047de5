import { posix } from "node:path"
import { ACCOUNT_CREDENTIALS } from "../../config/protected-paths.ts"
import { isWithin } from "../file-floor.ts"
import type { CommandFacts } from "./command-verdict.ts"
import { hasGlob, pathGlob } from "./shell-glob.ts"

/** What makes a path worth asking about when a command writes or deletes it. */
export type PathClass =
  | "hermes file"
  | "hermes home"
  | "hermes program"
  | "system config"
  | "user-sensitive"
  | "account credentials"
  | "start-up"
  | "system"
  | "kernel"
  | "executed by tools"
  | "project permissions"
  | "project env/config"

/** The class of an absolute, normalized path; undefined for an ordinary file. */
export function pathClass(path: string, facts: CommandFacts): PathClass | undefined {
  const named = CLASSES.find(({ has }) => has(path, facts))?.name
  if (named !== undefined || !hasGlob(path)) return named
  const matches = pathGlob(path)
  return PATTERN_TARGETS.map((name) => `${facts.userHome}/${name}`).some(matches) ? "user-sensitive" : undefined
}

/** Hidden files that a pattern such as `~/.b?shrc` may stand for. */
const PATTERN_TARGETS =
  ".bashrc .zshrc .profile .bash_profile .zprofile .zshenv .bash_login .netrc .npmrc .gitconfig .ssh/authorized_keys .ssh/config .vimrc".split(
    " ",
  )

const CLASSES: readonly { readonly name: PathClass; readonly has: (path: string, facts: CommandFacts) => boolean }[] = [
  { name: "hermes file", has: (path, facts) => isInHermes(path, facts) && HERMES_FILES.has(posix.basename(path)) },
  { name: "hermes home", has: isInHermes },
  { name: "hermes program", has: isInProgram },
  { name: "user-sensitive", has: (path, facts) => USER_SENSITIVE.test(belowHome(path, facts)) },
  { name: "start-up", has: (path, facts) => START_UP.test(belowHome(path, facts)) || SYSTEM_START_UP.test(path) },
  {
    name: "account credentials",
    has: (path, facts) => {
      const below = belowHome(path, facts)
      return below !== path && ACCOUNT_CREDENTIALS.some((name) => isWithin(below, name))
    },
  },
  { name: "kernel", has: (path) => /^\/(?:proc|sys)\//u.test(path) && !path.startsWith("/proc/self/fd/") },
  {
    name: "system config",
    has: (path, facts) => SYSTEM_CONFIG.test(path) && !isOwn(path, facts),
  },
  {
    name: "system",
    has: (path, facts) => SYSTEM_TREES.test(path) && !TEMPORARY.test(path) && !isOwn(path, facts),
  },
  { name: "project permissions", has: (path) => PROJECT_PERMISSIONS.test(path) },
  { name: "executed by tools", has: (path) => EXECUTED_BY_TOOLS.test(path) },
  { name: "project env/config", has: (path) => PROJECT_CONFIG.test(posix.basename(path)) },
]

/** The home of root and workspaces in unusual directories are not the system's. */
function isOwn(path: string, { userHome, workspaceRoot }: CommandFacts): boolean {
  return [userHome, workspaceRoot].some((own) => own !== "/" && path !== own && isWithin(path, own))
}

const HERMES_FILES = new Set([".env", "config.yaml", "permissions.yaml", "auth.json"])

function isInHermes(path: string, facts: CommandFacts): boolean {
  return [facts.hermesHome, facts.hermesRoot, `${facts.userHome}/.hermes`].some(
    (home) => isWithin(path, home) && !(isWithin(facts.workspaceRoot, home) && isWithin(path, facts.workspaceRoot)),
  )
}

/** The user may also work on Hermes itself. */
function isInProgram(path: string, { programRoot, workspaceRoot }: CommandFacts): boolean {
  return programRoot !== undefined && isWithin(path, programRoot) && !isWithin(path, workspaceRoot)
}

/** The path below the user's home; a path elsewhere stays absolute and matches none of the patterns. */
function belowHome(path: string, { userHome }: CommandFacts): string {
  return isWithin(path, userHome) ? path.slice(userHome.length).replace(/^\/+/u, "") : path
}

const USER_SENSITIVE = /^\.(?:ssh(?:\/|$)|(?:bashrc|zshrc|profile|bash_profile|zprofile|netrc|pgpass|npmrc|pypirc)$)/u

/** Files in the home that programs execute or that say what they execute. */
const START_UP = new RegExp(
  `^(?:${[
    String.raw`\.(?:bash_login|bash_logout|bash_aliases|zshenv|zlogin|zlogout|kshrc|cshrc|tcshrc|login|logout|inputrc|pam_environment)$`,
    String.raw`\.(?:xinitrc|xprofile|xsession|xsessionrc|Xresources|xserverrc)$`,
    String.raw`\.(?:gitconfig|gitattributes|hgrc|vimrc|gvimrc|exrc|nanorc|emacs|tmux\.conf|screenrc|gdbinit|lldbinit|psqlrc|sqliterc|curlrc|wgetrc|lesskey|perldb|irbrc|pryrc|pythonrc(?:\.py)?|Rprofile|octaverc|mailcap|forward|condarc|yarnrc(?:\.yml)?|gemrc|my\.cnf|muttrc|direnvrc|envrc|editorconfig)$`,
    String.raw`\.(?:vim|emacs\.d|oh-my-zsh|zsh|bashrc\.d|profile\.d|ipython|pip|cargo\/(?:config|bin|env)|gradle\/init|m2\/settings|rustup|nvm|pyenv|rbenv|asdf|sdkman|vscode|cursor|git-templates|terraform\.d|terraformrc)(?:\/|\.|$)`,
    String.raw`\.config\/(?:systemd|autostart|fish|git|pip|nvim|environment\.d|direnv|[Cc]ode|VSCodium|Cursor|zed|npm|plasma-workspace|i3|sway|hypr|kitty|alacritty|tmux|user-tmpfiles\.d|mimeapps\.list|helix|zsh|cmus|ranger|mpv|mise|starship\.toml|containers|cargo|nix|nixpkgs|home-manager)(?:\/|$)`,
    String.raw`\.local\/(?:bin|share\/(?:applications|dbus-1|systemd|keyrings|fish|nvim)|lib\/python[^/]*)(?:\/|$)`,
    String.raw`(?:bin|Library\/(?:LaunchAgents|Preferences|Keychains))(?:\/|$)`,
  ].join("|")})`,
  "u",
)
const SYSTEM_START_UP =
  /^\/(?:var\/spool\/(?:cron|at|anacron)|(?:usr\/)?lib\/systemd|usr\/local\/(?:s?bin|lib)|Library\/Launch)/u
const SYSTEM_CONFIG = /^\/(?:etc|private\/(?:etc|var(?!\/folders\/)|tmp|home))(?:\/|$)/u
const TEMPORARY = /^\/var\/(?:tmp|folders)\//u
const SYSTEM_TREES = /^\/(?:bin|sbin|lib\d*|boot|usr|var|root|System|Library)(?:\/|$)/u
const EXECUTED_BY_TOOLS =
  /\/\.git(?:$|\/[^/]*[*?[])|\/\.git\/(?:hooks?(?:\/|$)|config$|info\/attributes$|modules\/)|\/\.(?:envrc|mailcap)$|\/\.husky\/(?!_\/\.gitignore)|\/\.vscode\/(?:tasks|launch|settings)\.json$|\/\.idea\/(?:workspace\.xml|runConfigurations)|\/\.(?:mcp\.json|gitmodules)$|\/\.claude\/settings[^/]*\.json$|\/\.devcontainer(?:\/|\.json$)/u
const PROJECT_PERMISSIONS = /\/\.hermes(?:$|\/(?:(?:permissions|config)\.yaml|(?:plugins|hooks)(?:\/|$)))/u
const PROJECT_CONFIG = /^(?:\.env(?:\..+)?|config\.yaml)$/u
