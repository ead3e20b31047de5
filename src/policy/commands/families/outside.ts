import type { CommandRule } from "../command-rule.ts"
import type { Effect } from "../command-verdict.ts"
import { hasFlag, optionValues, packedValues, subcommands } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { isLoopback, networkHost } from "../network-target.ts"

const OUTSIDE: readonly Effect[] = [{ kind: "outside" }]
const says = (call: Invocation, pattern: RegExp): boolean => call.words.some(({ text }) => pattern.test(text))
const isInformation = (call: Invocation): boolean =>
  hasFlag(call, /^--(?:help|version|dry-run(?:=.*)?)$|^-[hV]$/u) || /^(?:help|version|completion)$/u.test(first(call))
const first = (call: Invocation): string => subcommands(call)[0] ?? ""
/** The first words of a command, as far as they say what it does. */
const action = (call: Invocation): string => subcommands(call).slice(0, 3).join(" ")
const isElsewhere = (call: Invocation): boolean => !isLoopback(networkHost(call))
const REMOTE_PATH = /^(?:[\w.-]+@)?(?:[\w.-]+|\[[\da-f:]+\]):(?!\/\/)|^(?:rsync|sftp|scp):\/\//iu

/** What each program can do without changing anything: the beginning of its words. */
const READING: Readonly<Record<string, RegExp>> = {
  gh: /^(?:$|(?:\S+ )?(?:view|list|ls|status|diff|checks|search|watch|download|checkout|clone|browse|verify|verify-asset)\b|search\b|status\b|browse\b|config (?:get|list)\b|auth status\b|extension (?:list|search|browse)\b|alias list\b|project (?:item-list|field-list)\b|api\b)/u,
  glab: /^(?:$|(?:\S+ )?(?:view|list|ls|status|diff|checkout|clone|trace|lint|get)\b|config get\b|auth status\b|api\b)/u,
  docker:
    /^(?:$|(?:container |image |volume |network |system |context |compose |buildx |manifest |node |service |stack )?(?:ps|ls|list|images|logs|inspect|version|info|stats|top|port|diff|history|events|df|search|show|config|du)\b)/u,
  kubectl:
    /^(?:$|(?:get|describe|logs|top|explain|api-resources|api-versions|cluster-info|diff|wait|kustomize)\b|config (?:view|get-\S+|current-context)\b|auth (?:can-i|whoami)\b|rollout (?:status|history)\b)/u,
  helm: /^(?:$|(?:list|ls|status|get|history|search|show|template|lint|env|dependency|dep|package|create|pull|verify)\b|repo (?:list|update|add)\b)/u,
  aws: /^(?:$|configure (?:list|get)\b|sts get-caller-identity\b|s3 (?:ls|presign)\b|\S+ (?:describe|list|get|head|batch-get|search|query|scan|lookup|wait|filter|tail)\b|logs tail\b)/u,
  gcloud: /^(?:$|info\b|(?:\S+ ){0,2}(?:list|describe|get|get-value|read|tail)\b|config\b|projects list\b)/u,
  az: /^(?:$|(?:\S+ ){0,2}(?:list|show|list-\S+|get-\S+|exists)\b|find\b|configure\b)/u,
}
const READS_LIKE: Readonly<Record<string, string>> = { podman: "docker", nerdctl: "docker", oc: "kubectl" }

const changes = (call: Invocation): boolean =>
  !isInformation(call) && READING[READS_LIKE[call.program] ?? call.program]?.test(action(call)) === false

/** `gh api` only reads, unless it has fields or another method. */
const changesByRequest = (call: Invocation): boolean =>
  first(call) === "api" &&
  (optionValues(call, "-f", "-F", "--field", "--raw-field", "--input").length > 0 ||
    optionValues(call, "-X", "--method").some(({ text }) => !/^get$/iu.test(text))) &&
  !optionValues(call, "-X", "--method").some(({ text }) => /^get$/iu.test(text))

const DEPLOYS: Readonly<Record<string, RegExp>> = {
  vercel: /^(?!(?:dev|build|ls|list|logs|inspect|whoami|pull|env ls|env pull|link|init|teams ls)\b)/u,
  netlify: /^(?:deploy|env:(?:set|unset|import)|sites:(?:create|delete)|functions:invoke)\b/u,
  fly: /^(?:deploy|launch|scale|secrets|volumes|machine|apps|ssh|postgres|ips)\b(?! (?:list|ls|show|status)\b)/u,
  flyctl: /^(?:deploy|launch|scale|secrets|volumes|machine|apps|ssh|postgres|ips)\b(?! (?:list|ls|show|status)\b)/u,
  railway: /^(?:up|deploy|redeploy|run|variables|add|down)\b/u,
  wrangler: /^(?:deploy|publish|secret|pages deploy|d1 (?:execute|migrations)|kv|r2|rollback|delete)\b/u,
  firebase: /^(?:deploy|functions|hosting|firestore|auth:import|database|remoteconfig)\b/u,
  heroku: /^(?!(?:$|apps|logs|ps|info|status|auth:whoami|local|help|releases)(?:\s|$))/u,
  serverless: /^(?:deploy|invoke|remove)\b/u,
  sls: /^(?:deploy|invoke|remove)\b/u,
  sam: /^(?:deploy|sync|delete)\b/u,
  cdk: /^(?:deploy|bootstrap|import|destroy)\b/u,
  eb: /^(?:deploy|create|terminate|setenv|scale)\b/u,
  terraform: /^(?:apply|import|destroy|refresh|taint|untaint|workspace (?:new|delete))\b/u,
  tofu: /^(?:apply|import|destroy|refresh|taint|untaint|workspace (?:new|delete))\b/u,
  terragrunt: /^(?:apply|destroy|run-all (?:apply|destroy))\b/u,
  pulumi: /^(?:up|update|destroy|refresh|import|cancel)\b/u,
  supabase: /^(?:db push|functions deploy|secrets|link|projects)\b/u,
  skaffold: /^(?:run|dev|deploy|delete)\b/u,
  ansible: /./u,
  "ansible-playbook": /./u,
}

const SENDING_METHOD = /^(?:post|put|patch|delete)$/iu
const sendsByRequest = (call: Invocation): boolean => {
  if (!isElsewhere(call) || call.operands.length === 0) return false
  if (["http", "https", "xh", "httpie"].includes(call.program))
    return SENDING_METHOD.test(call.operands[0]?.text ?? "") || says(call, /^[\w-]+:?=[^=]/u)
  if (call.program.startsWith("wget")) return hasFlag(call, /^--(?:post|body)-/u) || requestMethod(call, "--method")
  return (
    !hasFlag(call, /^-[a-zA-Z]*G$|^--get$/u) &&
    (hasFlag(call, /^-[a-zA-Z#]*[dFT]$|^-[dFT].|^--(?:data|form|json|upload-file)/u) ||
      requestMethod(call, "-X", "--request"))
  )
}
const requestMethod = (call: Invocation, ...names: readonly string[]): boolean =>
  [...optionValues(call, ...names), ...(names.includes("-X") ? packedValues(call, "X") : [])].some(({ text }) =>
    SENDING_METHOD.test(text),
  )

const DATABASE_CLIENTS = [
  "psql",
  "pgcli",
  "mysql",
  "mariadb",
  "mongosh",
  "mongo",
  "redis-cli",
  "valkey-cli",
  "cqlsh",
  "sqlcmd",
]
const databaseHost = (call: Invocation): string | undefined =>
  optionValues(call, "-h", "--host")[0]?.text ??
  call.operands
    .map(({ text }) => /^\w+(?:\+\w+)?:\/\/(?:[^/@]*@)?([^/:?]+)/u.exec(text)?.[1] ?? /\bhost=(\S+)/u.exec(text)?.[1])
    .find((host) => host !== undefined)

/**
 * What acts on other machines and services. 4.5 lists none of it, and no sandbox confines it. The profiles in which walls replace questions
 * ask about it.
 */
export const OUTSIDE_RULES: readonly CommandRule[] = [
  {
    key: "push to a remote repository",
    programs: ["git", "hg", "svn", "jj", "fossil", "bzr", "p4"],
    when: (call) =>
      !hasFlag(call, /^--dry-run$|^-n$/u) &&
      (call.program === "svn"
        ? /^(?:commit|ci|import|copy|cp|delete|mkdir|move)\b/u.test(action(call))
        : call.program === "p4"
          ? first(call) === "submit"
          : /^(?:push|send-email|request-pull|svn dcommit|lfs push|p4 submit|subtree push|git push|annex (?:sync|copy))\b/u.test(
              action(call),
            )),
    does: "sends commits to a server",
    effects: OUTSIDE,
    remote: true,
  },
  {
    key: "write to a code hosting service",
    programs: ["gh", "glab", "hub", "tea"],
    when: (call) => changesByRequest(call) || (call.program in READING ? changes(call) : !isInformation(call)),
    does: "changes something on a server",
    effects: OUTSIDE,
  },
  {
    key: "run commands on another machine",
    programs: ["ssh", "mosh", "sshpass", "autossh"],
    when: (call) => call.words.length > 0 && !hasFlag(call, /^-[VQG]/u),
    does: "runs commands on another machine",
    effects: OUTSIDE,
  },
  {
    key: "copy files to another machine",
    programs: ["scp", "rsync", "sftp", "rclone", "unison", "lftp", "ftp"],
    when: (call) =>
      call.program === "sftp" || call.program === "lftp" || call.program === "ftp"
        ? call.words.length > 0
        : REMOTE_PATH.test(call.operands.at(-1)?.text ?? "") &&
          isElsewhere(call) &&
          !hasFlag(call, /^-[a-z]*n|^--dry-run$/u),
    does: "copies files to another machine",
    effects: OUTSIDE,
  },
  {
    key: "send a request that changes data",
    programs: ["curl", "curlie", "wget", "wget2", "http", "https", "httpie", "xh", "grpcurl"],
    when: (call) =>
      call.program === "grpcurl" ? isElsewhere(call) && !says(call, /^(?:list|describe)$/u) : sendsByRequest(call),
    does: "sends data to another machine",
    effects: OUTSIDE,
  },
  {
    key: "act on a container service",
    programs: ["docker", "podman", "nerdctl"],
    when: changes,
    does: "acts through a service outside the sandbox",
    effects: OUTSIDE,
  },
  {
    key: "act on a container service",
    programs: ["docker-compose", "podman-compose"],
    when: (call) =>
      !isInformation(call) && !/^(?:$|(?:ps|ls|logs|config|images|top|port|events|stats)\b)/u.test(action(call)),
    does: "acts through a service outside the sandbox",
    effects: OUTSIDE,
  },
  {
    key: "change a cluster",
    programs: ["kubectl", "oc", "helm"],
    when: changes,
    does: "changes something in a cluster",
    effects: OUTSIDE,
  },
  {
    key: "change a cloud",
    programs: ["aws", "gcloud", "az"],
    when: changes,
    does: "changes something in a cloud",
    effects: OUTSIDE,
  },
  {
    key: "deploy",
    programs: Object.keys(DEPLOYS),
    when: (call) =>
      !isInformation(call) && DEPLOYS[call.program]?.test(subcommands(call).slice(0, 2).join(" ")) === true,
    does: "changes what runs on other machines",
    effects: OUTSIDE,
  },
  {
    key: "use a database on another machine",
    programs: DATABASE_CLIENTS,
    when: (call) => {
      const host = databaseHost(call)
      return host !== undefined && !isLoopback(host) && !host.startsWith("/")
    },
    does: "runs statements on another machine",
    effects: OUTSIDE,
  },
]
