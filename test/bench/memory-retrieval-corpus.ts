/**
 * What the benchmark of recall is made of. A topic is one thing that may be known about a project or a person: how it was said, and
 * how somebody asks for it months later, the way people ask and in other words. `{n}` is the name, `{v}` a value.
 */
export interface Topic {
  readonly said: string
  readonly asked: readonly [string, string]
  readonly values: readonly string[]
}

const PORTS = ["7431", "8086", "9315", "6112", "5544"]
const TOOLS = ["Terraform", "Ansible", "Bazel", "Gradle", "Meson"]
const CITIES = ["Lisbon", "Graz", "Tromsø", "Leeds", "Utrecht", "Porto"]
const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
const MONTHS = ["January", "March", "May", "August", "October"]
const PEOPLE = ["Marta", "Olek", "Chidi", "Priya", "Jonas", "Sanna"]
const NUMBERS = ["14", "23", "37", "52", "68", "91"]

export const PROJECT_TOPICS: readonly Topic[] = [
  t(
    "The staging database of {n} listens on port {v}.",
    "which port do I use for the {n} test environment db",
    "how do I reach the non-production postgres of {n}",
    PORTS,
  ),
  t("{n} is deployed with {v}.", "what do we ship {n} with", "which tool rolls out {n}", TOOLS),
  t(
    "Backups of {n} are taken every {v} hours.",
    "how often is a snapshot of {n} made",
    "how frequently do we save copies of {n} data",
    NUMBERS,
  ),
  t(
    "The production servers of {n} stand in {v}.",
    "where are the live machines of {n}",
    "in which city does {n} run for real users",
    CITIES,
  ),
  t("{v} is the maintainer of {n}.", "who looks after {n}", "who is responsible for {n}", PEOPLE),
  t(
    "Releases of {n} go out on {v}.",
    "on what weekday do we publish {n}",
    "when does a new version of {n} come out",
    DAYS,
  ),
  t("The licence of {n} is {v}.", "under which terms may others use {n}", "what license does {n} have", [
    "MIT",
    "Apache-2.0",
    "MPL-2.0",
  ]),
  t(
    "{n} keeps its logs for {v} days.",
    "how long are the log files of {n} retained",
    "after how many days do we throw away {n} logging output",
    NUMBERS,
  ),
  t(
    "The rate limit of the {n} API is {v} requests a second.",
    "how many calls per second does {n} accept",
    "at what point does {n} throttle clients",
    NUMBERS,
  ),
  t(
    "The memory leak in {n} came from {v}.",
    "what made {n} eat more and more RAM",
    "what was the culprit for the growing heap of {n}",
    ["an unbounded cache", "timers that were never cleared", "a listener on the socket"],
  ),
  t("{n} uses {v} as its message broker.", "which queue does {n} run on", "what passes events around in {n}", [
    "RabbitMQ",
    "NATS",
    "Kafka",
    "SQS",
  ]),
  t(
    "The test suite of {n} takes {v} minutes.",
    "how long do the {n} tests run",
    "how slow are the checks of {n}",
    NUMBERS,
  ),
  t(
    "The flaky test of {n} was fixed by {v}.",
    "how did we solve the unreliable spec in {n}",
    "what cured the intermittent red builds of {n}",
    ["freezing the clock", "waiting for the port", "a fixed seed"],
  ),
  t("{n} was started in {v}.", "when did work on {n} begin", "in which month was {n} kicked off", MONTHS),
  t(
    "The monthly hosting cost of {n} is {v} euros.",
    "what do we pay each month to run {n}",
    "how expensive is the infrastructure of {n}",
    NUMBERS,
  ),
  t("{n} authenticates users through {v}.", "how do people sign in to {n}", "what handles the login of {n}", [
    "Keycloak",
    "Auth0",
    "Okta",
    "a home-grown OAuth server",
  ]),
  t("The coding style of {n} forbids {v}.", "what must I not write in {n} code", "which construct is banned in {n}", [
    "default exports",
    "global state",
    "inheritance",
  ]),
  t("{n} is written in {v}.", "which programming language is {n} made with", "what is the code base of {n} coded in", [
    "Rust",
    "Go",
    "Kotlin",
    "Elixir",
  ]),
  t("The main branch of {n} is called {v}.", "what is the trunk of {n} named", "which branch do I merge to in {n}", [
    "develop",
    "stable",
    "edge",
  ]),
  t(
    "The dashboard of {n} shows {v} charts.",
    "how many graphs are on the grafana page of {n}",
    "how many panels does the {n} overview have",
    NUMBERS,
  ),
  t(
    "The certificate of {n} expires in {v}.",
    "when does the TLS of {n} run out",
    "in which month must we renew https for {n}",
    MONTHS,
  ),
  t(
    "The on-call rotation of {n} changes every {v}.",
    "when does the pager duty for {n} hand over",
    "on which day does another person carry the phone for {n}",
    DAYS,
  ),
  t("The largest customer of {n} is {v}.", "who is the biggest client of {n}", "which buyer brings {n} most revenue", [
    "Nordwind",
    "Kestrel Foods",
    "Halden Rail",
    "Ostrava Steel",
  ]),
  t(
    "{n} stores uploaded pictures in {v}.",
    "where do the images people send to {n} end up",
    "what holds the photos of {n}",
    ["an S3 bucket", "a MinIO cluster", "the local disk"],
  ),
  t(
    "The migration of {n} to Kubernetes was postponed to {v}.",
    "until when was moving {n} to k8s delayed",
    "when will {n} switch to the cluster",
    MONTHS,
  ),
  t(
    "The search of {n} is slow because of {v}.",
    "why does looking things up in {n} take so long",
    "what is the reason for the bad latency of {n} lookups",
    ["a missing index", "a sequential scan", "the trigram table"],
  ),
  t(
    "The timeout of the {n} payment call is {v} seconds.",
    "how long does {n} wait for the money transfer to answer",
    "after how many seconds does {n} give up on charging",
    NUMBERS,
  ),
  t("The colour of the {n} logo is {v}.", "what shade is the emblem of {n}", "which color does the {n} brand use", [
    "teal",
    "crimson",
    "ochre",
  ]),
  t("The outage of {n} was caused by {v}.", "why was {n} down", "what led to the incident with {n}", [
    "a full disk",
    "an expired token",
    "a bad DNS record",
  ]),
  t("{n} reads its configuration from {v}.", "where are the settings of {n}", "which file do I edit to set up {n}", [
    "/etc/app.toml",
    "config.yaml",
    "a Consul key",
  ]),
  t(
    "The nightly job of {n} runs at {v} minutes past two.",
    "when does the scheduled batch of {n} kick in",
    "at what time is the cron of {n} triggered",
    NUMBERS,
  ),
  t(
    "The accessibility review of {n} found {v} defects.",
    "how many problems did the a11y audit of {n} reveal",
    "what number of issues did the screen reader check of {n} give",
    NUMBERS,
  ),
  t("The documentation of {n} lives in {v}.", "where is the manual for {n}", "where do I read how {n} works", [
    "Notion",
    "the wiki",
    "a Git submodule",
  ]),
  t(
    "The frontend of {n} is built with {v}.",
    "what UI framework does {n} have",
    "what is the client side of {n} based on",
    ["Svelte", "Vue", "Solid"],
  ),
  t(
    "The encryption key of {n} is rotated in {v}.",
    "when do we change the secret of {n}",
    "in which month do we swap the cipher material of {n}",
    MONTHS,
  ),
  t(
    "The retry policy of {n} is {v} attempts.",
    "how many times does {n} try again",
    "after how many failures does {n} stop repeating",
    NUMBERS,
  ),
  t(
    "The feature flag service of {n} is {v}.",
    "with what do we toggle things in {n}",
    "how do we switch behaviour of {n} on for some users",
    ["Unleash", "LaunchDarkly", "Flipt"],
  ),
  t("The invoice for {n} is sent to {v}.", "who gets the bill of {n}", "to whom goes the charge for {n}", PEOPLE),
  t(
    "The code coverage goal of {n} is {v} percent.",
    "how much of {n} should tests exercise",
    "which coverage target does {n} have",
    NUMBERS,
  ),
  t(
    "The mobile app of {n} supports {v} languages.",
    "into how many tongues is the phone version of {n} translated",
    "how many locales does the smartphone client of {n} have",
    NUMBERS,
  ),
  t(
    "The design document of {n} was approved by {v}.",
    "who accepted the spec of {n}",
    "who gave the green light for the architecture of {n}",
    PEOPLE,
  ),
  t(
    "The cache of {n} is emptied every {v} minutes.",
    "how often is redis flushed in {n}",
    "at which interval does {n} drop cached values",
    NUMBERS,
  ),
  t(
    "The user interviews about {n} take place in {v}.",
    "where do we talk to people who use {n}",
    "in which town are the research sessions for {n}",
    CITIES,
  ),
  t(
    "The load balancer of {n} was replaced by {v}.",
    "what do we have now in place of the old proxy of {n}",
    "what distributes the traffic of {n} today",
    ["Envoy", "Traefik", "HAProxy"],
  ),
  t("The import of {n} fails on files with {v}.", "what breaks loading data into {n}", "which input makes {n} choke", [
    "a byte order mark",
    "Windows line ends",
    "more than a million rows",
  ]),
  t(
    "The sprint of {n} ends on {v}.",
    "on what day is the iteration of {n} over",
    "when do we close the cycle of {n}",
    DAYS,
  ),
  t(
    "The security audit of {n} is done by {v}.",
    "which firm checks {n} for vulnerabilities",
    "who does the pentest of {n}",
    ["Cureline", "Redgate Labs", "Bastion"],
  ),
  t(
    "The printer label of {n} has a width of {v} millimetres.",
    "how wide is the sticker that {n} prints",
    "what is the size of the {n} tag",
    NUMBERS,
  ),
  t(
    "The recommendation model of {n} is retrained on {v}.",
    "when does {n} learn its suggestions again",
    "on which day is the ML part of {n} refreshed",
    DAYS,
  ),
  t("Feature requests for {n} are collected in {v}.", "where do I put an idea for {n}", "where do wishes for {n} go", [
    "a Trello board",
    "GitHub discussions",
    "a shared sheet",
  ]),
]

export const PERSON_TOPICS: readonly Topic[] = [
  t("{n} is allergic to {v}.", "what food must {n} stay away from", "what does {n} have an intolerance to", [
    "peanuts",
    "shellfish",
    "celery",
  ]),
  t("{n} lives in {v}.", "where is the home of {n}", "in which town does {n} reside", CITIES),
  t("The birthday of {n} is in {v}.", "when was {n} born", "in what month should I congratulate {n}", MONTHS),
  t("{n} drives a {v}.", "which car does {n} have", "what vehicle belongs to {n}", ["Skoda", "Volvo", "Fiat"]),
  t("{n} works as a {v}.", "what is the job of {n}", "what does {n} do for a living", ["nurse", "notary", "carpenter"]),
  t("The dog of {n} is called {v}.", "what is the name of the puppy of {n}", "how does {n} call the hound", [
    "Bruno",
    "Kira",
    "Pixel",
  ]),
  t(
    "{n} prefers meetings on {v}.",
    "which weekday suits {n} for an appointment",
    "on what day does {n} like to get together",
    DAYS,
  ),
  t("{n} plays the {v}.", "which instrument does {n} practise", "what music does {n} make", [
    "cello",
    "trumpet",
    "harp",
  ]),
  t("The shoe size of {n} is {v}.", "which footwear fits {n}", "how big are the boots of {n}", NUMBERS),
  t("{n} is on holiday in {v}.", "when does {n} take a vacation", "in which month is {n} away on leave", MONTHS),
  t(
    "The daughter of {n} studies in {v}.",
    "where does the girl of {n} go to university",
    "in what city is the kid of {n} at college",
    CITIES,
  ),
  t(
    "{n} takes {v} for high blood pressure.",
    "what medication does {n} need for hypertension",
    "which pills does {n} swallow",
    ["ramipril", "candesartan", "amlodipine"],
  ),
  t("The favourite dish of {n} is {v}.", "what does {n} love to eat", "which meal pleases {n} most", [
    "goulash",
    "risotto",
    "ramen",
  ]),
  t("{n} reports to {v}.", "who is the boss of {n}", "who is the manager above {n}", PEOPLE),
  t(
    "The salary of {n} was raised in {v}.",
    "when did {n} start to earn more",
    "in which month did the pay of {n} go up",
    MONTHS,
  ),
  t("{n} commutes by {v}.", "how does {n} travel to the office", "by what means does {n} get to work", [
    "tram",
    "bicycle",
    "ferry",
  ]),
  t("The dentist of {n} is {v}.", "who cares for the teeth of {n}", "to whom does {n} go with a toothache", PEOPLE),
  t("{n} rents a flat from {v}.", "who is the landlord of {n}", "to whom does {n} owe money for the apartment", PEOPLE),
  t("{n} collects {v}.", "what is the hobby of {n}", "what does {n} gather in spare time", [
    "stamps",
    "fossils",
    "vinyl",
  ]),
  t(
    "The passport of {n} expires in {v}.",
    "until when is the travel document of {n} valid",
    "when must {n} renew the identity papers",
    MONTHS,
  ),
  t("{n} has a subscription for {v}.", "what does {n} pay for regularly", "which membership does {n} hold", [
    "the opera",
    "a gym",
    "a newspaper",
  ]),
  t("The wedding of {n} was in {v}.", "where did {n} get married", "in which place did {n} tie the knot", CITIES),
  t("{n} cannot stand {v}.", "what does {n} hate", "what annoys {n}", ["coriander", "loud music", "small talk"]),
  t("{n} is learning {v}.", "which language does {n} study", "what is {n} taking lessons in", [
    "Finnish",
    "Korean",
    "Welsh",
  ]),
  t(
    "The doctor of {n} recommended {v}.",
    "what did the physician advise {n}",
    "which treatment was suggested to {n} by the GP",
    ["physiotherapy", "more sleep", "a blood test"],
  ),
  t("{n} bought a {v}.", "what did {n} purchase", "what did {n} get from the shop", [
    "kayak",
    "sewing machine",
    "telescope",
  ]),
  t(
    "The brother of {n} is a {v}.",
    "what does the sibling of {n} do",
    "what profession has the other son in the family of {n}",
    ["pilot", "brewer", "judge"],
  ),
  t(
    "{n} speaks at the conference in {v}.",
    "where does {n} give a talk",
    "at which city's summit is {n} on stage",
    CITIES,
  ),
  t(
    "{n} drinks {v} in the morning.",
    "what beverage does {n} have at breakfast",
    "what does {n} sip early in the day",
    ["oolong", "espresso", "kefir"],
  ),
  t("The computer of {n} runs {v}.", "which OS has {n} on the laptop", "what operating system does {n} use", [
    "Fedora",
    "NixOS",
    "Haiku",
  ]),
  t("{n} likes the editor {v}.", "in which IDE does {n} write code", "what does {n} type programs in", [
    "Helix",
    "Emacs",
    "Kakoune",
  ]),
  t("The insurance of {n} is with {v}.", "who covers {n} in case of damage", "which company holds the policy of {n}", [
    "Allura",
    "Nordschild",
    "Helvia",
  ]),
  t("{n} volunteers for {v}.", "what unpaid work does {n} do", "whom does {n} help for free", [
    "the food bank",
    "mountain rescue",
    "a shelter",
  ]),
  t("The garden of {n} needs {v}.", "what is missing in the yard of {n}", "what should we bring for the lawn of {n}", [
    "compost",
    "a hedge",
    "lime",
  ]),
  t("{n} broke the {v} while skiing.", "which injury did {n} get on the slopes", "what did {n} hurt in the snow", [
    "wrist",
    "ankle",
    "collarbone",
  ]),
  t("{n} reads novels by {v}.", "which author does {n} enjoy", "whose books are on the shelf of {n}", [
    "Lem",
    "Woolf",
    "Borges",
  ]),
  t("The time zone of {n} is {v}.", "how many hours is {n} ahead of us", "what is the local clock of {n}", [
    "UTC+3",
    "UTC-5",
    "UTC+9",
  ]),
  t(
    "{n} paid {v} euros for the fridge.",
    "how much did the refrigerator of {n} cost",
    "what was the price of the cooling unit {n} got",
    NUMBERS,
  ),
  t("{n} sleeps badly because of {v}.", "what keeps {n} awake at night", "why is {n} tired all the time", [
    "the street noise",
    "back pain",
    "the new baby",
  ]),
  t(
    "The mother of {n} comes from {v}.",
    "where are the maternal roots of {n}",
    "in what place did the mum of {n} grow up",
    CITIES,
  ),
  t("{n} goes running on {v}.", "when does {n} jog", "on which day does {n} do exercise outdoors", DAYS),
  t("The bank of {n} is {v}.", "where does {n} keep money", "with which institute has {n} an account", [
    "Raiffen",
    "Tallin Savings",
    "Crédit Mutual",
  ]),
  t("{n} needs glasses for {v}.", "why does {n} wear spectacles", "what does {n} not see well without lenses", [
    "reading",
    "driving",
    "the screen",
  ]),
  t("The lawyer of {n} is {v}.", "which attorney does {n} have", "who gives {n} legal advice", PEOPLE),
  t("{n} forgot the {v} at our place.", "what did {n} leave behind here", "which thing of {n} is still with us", [
    "umbrella",
    "charger",
    "scarf",
  ]),
  t("{n} is afraid of {v}.", "what scares {n}", "which phobia does {n} have", ["heights", "spiders", "lifts"]),
  t(
    "The heating of {n} was repaired by {v}.",
    "who fixed the boiler of {n}",
    "who made the radiators of {n} warm again",
    PEOPLE,
  ),
  t(
    "{n} wants {v} for Christmas.",
    "what gift would make {n} happy",
    "what shall we give {n} as a present in December",
    ["a drone", "wool socks", "a board game"],
  ),
  t("The phone of {n} has the number 0{v}55.", "how can I ring {n}", "what digits do I dial for {n}", NUMBERS),
  t(
    "{n} voted for {v} as team name.",
    "which title for the group did {n} choose",
    "what did {n} want to call our crew",
    ["Otters", "Comets", "Lanterns"],
  ),
]

/** Said once in months of conversations, and asked for without a name that would give it away. */
export const SINGLE_FACTS: readonly (readonly [said: string, asked: string])[] = [
  [
    "We decided against GraphQL for the warehouse gateway because caching it is painful.",
    "why did we not take GraphQL",
  ],
  ["The spare key of the bicycle cellar hangs behind the fuse box.", "where is the second key for the bike basement"],
  ["Squash merges only, history of the trunk must stay linear.", "how should pull requests be combined into main"],
  ["The espresso machine has to be descaled with citric acid, never vinegar.", "what do I clean the coffee maker with"],
  [
    "Aunt Ruth gets dizzy on ferries, so book the tunnel instead.",
    "how should we travel with my aunt who becomes seasick",
  ],
  ["The tax office wants the quarterly statement by the tenth.", "until when must the VAT papers be handed in"],
  [
    "Our wifi at the cabin is switched off by the timer at midnight.",
    "why is there no internet in the hut late at night",
  ],
  [
    "Kilnworks refused the second delivery since the pallets were wet.",
    "which supplier rejected the goods because of moisture",
  ],
  [
    "I want commit messages in the imperative mood without a trailing period.",
    "what style do I like for git commit texts",
  ],
  ["The piano tuner found moths in the felt of the upright.", "what damage was discovered in the instrument at home"],
  [
    "Grandpa's pacemaker must be checked before every flight.",
    "what medical test does my grandfather need ahead of air travel",
  ],
  [
    "Do not let the crawler touch the archive of the parish, they asked us to stop.",
    "which website must our spider not scrape",
  ],
  [
    "The landlord allows painting walls but no drilling in the tiles.",
    "what changes to the apartment are permitted by the owner",
  ],
  [
    "Segfaults in the thumbnailer vanished after we pinned libvips to 8.14.",
    "how did we get rid of the crash when making preview images",
  ],
  ["My nephew stutters when people finish his sentences for him.", "how should one talk with my sister's boy"],
  [
    "The harvest festival moved to the second Sunday because of the marathon.",
    "why is the autumn fair on another date",
  ],
  [
    "Use metric units in every report for the Brazilian subsidiary.",
    "which measurement system do the people in Brazil want",
  ],
  [
    "The choir rehearses in the gym while the chapel roof is being mended.",
    "where do we sing until the church is repaired",
  ],
  [
    "Terraform state is locked in DynamoDB, table tf-locks-eu.",
    "what prevents two people from applying infrastructure at once",
  ],
  ["I sold the blue kayak to Henning for two hundred.", "who bought my boat"],
  [
    "The school bus leaves eight minutes earlier since the bridge closed.",
    "when do the children have to be at the stop",
  ],
  ["Radish likes the vet on Mill Lane, the other one makes her bite.", "which animal doctor does our rabbit tolerate"],
  [
    "Postgres autovacuum was starved by the long analytics transaction.",
    "what blocked the cleanup of dead rows in the database",
  ],
  [
    "We sign the macOS build on the old Mac mini because the token is plugged in there.",
    "on which machine is the apple release signed",
  ],
  ["Please answer me in short sentences, I read on a watch.", "how long should replies to me be"],
  ["The insurance paid only half for the hail damage on the roof.", "how much of the storm repair was covered"],
  ["Ibuprofen upsets my stomach, paracetamol is fine.", "which painkiller can I take"],
  ["The nursery closes at four on Fridays.", "when do I have to pick up the toddler before the weekend"],
  ["Feature branches are deleted automatically after thirty days without a push.", "what happens to stale branches"],
  ["The apprentice starts in September and needs a badge and a desk.", "what has to be prepared for the new trainee"],
  [
    "Our old router drops IPv6 when the lease is renewed, rebooting helps.",
    "why does the network break sometimes and what fixes it",
  ],
  [
    "The quartet wants the hall without carpets, because of the acoustics.",
    "what does the music group require of the room",
  ],
  ["Never run the billing replay on the last day of a month.", "when is it forbidden to repeat the invoice job"],
  ["The cheese in the blue box has no lactose.", "what dairy can a guest with milk intolerance have"],
  ["Yusuf reviews everything that touches the scheduler.", "who must approve changes to job planning"],
  ["The bees at the north fence were treated against mites in August.", "when did we do something for the hives"],
  ["Latency doubled when the driver was upgraded, so we went back to 5.2.", "why did we downgrade the driver"],
  ["The museum lends wheelchairs at the side entrance.", "where can grandma get help to move around the exhibition"],
  ["We keep customer exports for ninety days and then shred them.", "how long is client data retained"],
  [
    "My passport photo must be retaken, the glasses reflected.",
    "what was wrong with the picture for my travel document",
  ],
  [
    "Emails to the authority need the file number in the subject line.",
    "what must I write when I mail the government office",
  ],
  ["The left pedal of the red bike squeaks, grease is in the shed.", "what noise does the bicycle make"],
  [
    "Tests against the sandbox bank fail between two and three at night.",
    "when is the payment test system unavailable",
  ],
  ["Lea's thesis defence is on the ninth, bring tissues.", "when is the final exam of Lea"],
  [
    "The greenhouse thermostat reads three degrees too high.",
    "what is wrong with the temperature sensor for the plants",
  ],
  ["We name hosts after rivers and printers after poets.", "what is our convention for naming machines"],
  ["The podcast intro is licensed only for non-commercial episodes.", "may we use the opening tune in sponsored shows"],
  ["The carpenter will come back for the warped drawer.", "who repairs the furniture that does not close"],
  ["Dates in the ledger are American, month first.", "in what order are day and month in the accounting file"],
  ["The swimming pass is valid for ten visits until June.", "how often can I still go to the pool"],
]

/** Asked once more for each topic, in the order above. Written when the word lists were finished; nothing was changed for their sake. */
export const LATER_PROJECT_QUESTIONS: readonly string[] = [
  "tcp endpoint of the {n} staging postgres",
  "how does {n} get onto the servers",
  "interval between {n} dumps",
  "data center location for {n}",
  "whom do I bother about {n} bugs",
  "release day of {n}",
  "can I reuse {n} commercially",
  "retention of {n} traces",
  "maximum throughput allowed on the {n} interface",
  "source of the {n} heap growth",
  "pub/sub technology behind {n}",
  "duration of the {n} test run",
  "remedy for the nondeterministic {n} test",
  "birth month of {n}",
  "cloud spending for {n}",
  "identity provider of {n}",
  "things the {n} linter complains about",
  "tech stack of {n}",
  "default branch name in {n}",
  "number of plots on the {n} monitoring screen",
  "ssl renewal date for {n}",
  "shift change for {n} support",
  "top account of {n}",
  "upload destination for {n} pictures",
  "new date for the {n} k8s move",
  "bottleneck in {n} search",
  "how patient is {n} with the payment provider",
  "{n} corporate color",
  "root cause of the {n} downtime",
  "config location of {n}",
  "start time of the {n} night batch",
  "result of the {n} accessibility test",
  "handbook of {n}",
  "javascript framework of {n}",
  "rotation of {n} crypto keys",
  "how persistent is {n} when a call fails",
  "tool for gradual rollout in {n}",
  "recipient of {n} invoices",
  "desired test coverage in {n}",
  "translations available in the {n} app",
  "reviewer of the {n} design",
  "cache lifetime in {n}",
  "location of {n} user research",
  "reverse proxy in front of {n}",
  "files that crash the {n} importer",
  "last day of the {n} sprint",
  "external security company for {n}",
  "label dimensions for {n}",
  "model refresh schedule of {n}",
  "suggestion box of {n}",
]

export const LATER_PERSON_QUESTIONS: readonly string[] = [
  "dietary restrictions of {n}",
  "hometown of {n}",
  "month in which {n} turns a year older",
  "brand of automobile {n} owns",
  "occupation of {n}",
  "{n} pet name",
  "best day to meet {n}",
  "musical skill of {n}",
  "shoes to buy for {n}",
  "time off of {n}",
  "university town of the child of {n}",
  "heart medicine of {n}",
  "what to cook when {n} visits",
  "supervisor of {n}",
  "when {n} got more money from the employer",
  "way to the job for {n}",
  "tooth doctor of {n}",
  "owner of the place {n} rents",
  "leisure activity of {n}",
  "passport validity of {n}",
  "recurring payments of {n}",
  "place where {n} married",
  "pet peeves of {n}",
  "foreign language course of {n}",
  "medical advice {n} received",
  "recent acquisition of {n}",
  "career of the sibling of {n}",
  "venue of the lecture by {n}",
  "morning drink of {n}",
  "linux distribution of {n}",
  "text editor of {n}",
  "insurer of {n}",
  "charity work of {n}",
  "to do in the garden of {n}",
  "skiing accident of {n}",
  "preferred writer of {n}",
  "offset from UTC for {n}",
  "cost of the fridge bought by {n}",
  "reason for the insomnia of {n}",
  "origin of the mother of {n}",
  "jogging schedule of {n}",
  "financial institution of {n}",
  "purpose of the eyeglasses of {n}",
  "legal counsel of {n}",
  "item {n} left at our house",
  "fears of {n}",
  "heating technician of {n}",
  "christmas wish of {n}",
  "telephone contact of {n}",
  "team name idea of {n}",
]

export const LATER_SINGLE_FACTS: readonly (readonly [said: string, asked: string])[] = [
  ["The attic window jams unless you lift it a little.", "trick to open the skylight upstairs"],
  ["We bill the museum per visitor, not per month.", "how is the exhibition client charged"],
  ["Noa wants her slides without animations.", "presentation style preferred by Noa"],
  [
    "The integration with the freight exchange is frozen until their lawyers answer.",
    "why is the logistics connection on hold",
  ],
  ["My left knee clicks after more than ten kilometres.", "at what distance does my leg start to complain"],
  ["Use the quiet carriage when you book trains for me.", "seat preference on the railway"],
  ["The sourdough needs twelve hours in the cool pantry.", "how long must the bread rest"],
  ["Chrome on the lab tablets is locked to version 118.", "which browser release runs on the devices in the lab"],
  ["The neighbours feed our cat when we are in the mountains.", "who looks after the pet while we are away"],
  ["Quarterly numbers must never be posted in the open channel.", "where may financial figures not be shared"],
  ["The red toolbox belongs to the fire brigade.", "owner of the wrench case"],
  ["Error 4711 means that the scanner glass is dirty.", "meaning of code 4711"],
  ["Our youngest is scared of the vacuum cleaner.", "which household appliance frightens the little one"],
  ["The speaker fee for Ghent was donated to the library.", "what happened to the money for the talk in Belgium"],
  [
    "The staging cluster is switched off at weekends to save money.",
    "why can I not reach the test servers on a Sunday",
  ],
  [
    "The tomatoes by the south wall need no watering in June.",
    "which vegetables should I leave dry at the start of summer",
  ],
  ["Ask Ferran before you touch the tariff tables.", "who has to be consulted about price data"],
  ["The blue ink cartridge is the wrong model for the office printer.", "what did we order by mistake for printing"],
  ["Dad cannot hear the doorbell when the television is on.", "why does my father not open when I ring"],
  [
    "Version 3 of the protocol drops support for XML payloads.",
    "which format is no longer accepted in the new protocol",
  ],
]

/** What stands around a fact in a conversation. */
export const CHATTER: readonly string[] = [
  "Let me have a look at that first.",
  "That sounds reasonable, please go ahead.",
  "I ran the command again and the output is the same as before.",
  "By the way, the weather turned out fine after all.",
  "Here is the list you asked for, sorted by date.",
  "I am not sure this is right, could you check the numbers?",
  "We should write this down before we forget it.",
  "The file was saved and the change is on the branch.",
  "Thanks, that helped a lot.",
  "Could you send me a short summary later today?",
  "I will be in a meeting until noon.",
  "There were two warnings, both harmless.",
  "This came up last week as well.",
  "Please keep the answer short this time.",
  "The team agreed on this in the call.",
  "I added a note to the project page.",
  "Everything else stays as it is.",
  "It took longer than expected, but it works now.",
  "The price is still being discussed with the supplier.",
  "Do you want me to remind you tomorrow morning?",
]

const FIRST = "Ba Cor Dal Fen Gri Hal Jor Kes Lum Mor Nal Per Quil Ros Sel Tor Ul Ven Wil Zan".split(" ")
const LAST = "aro bex dine far gul hurst ino kel lor mond".split(" ")

/** Two hundred names that are no words. */
export const NAMES: readonly string[] = FIRST.flatMap((first) => LAST.map((last) => `${first}${last}`))

function t(said: string, first: string, second: string, values: readonly string[]): Topic {
  return { said, asked: [first, second], values }
}
