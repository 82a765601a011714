"""Words that are values of one kind: parts of the day, colours, ways to pay. Two of one kind exclude each other.

And words of a state that lasts or has ended. English; a word may be of several kinds. From general knowledge, no data.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

from memrank.text.tokens import tokenizer_of

_KINDS = """
part of day: morning mornings dawn early breakfast-time | noon midday lunchtime | afternoon afternoons | evening
  evenings | night nights midnight overnight late
weekday: monday mondays mon | tuesday tuesdays tue tues | wednesday wednesdays wed | thursday thursdays thu thurs |
  friday fridays fri | saturday saturdays | sunday sundays | weekend weekends | weekday weekdays
season: spring | summer | autumn fall | winter
frequency: hourly | daily | nightly | weekly | fortnightly biweekly | monthly | quarterly | yearly annually annual |
  never | always | sometimes occasionally rarely seldom
colour: red | blue navy | green | yellow | black | white | grey gray | brown | orange | purple violet | pink | beige
  cream | silver | gold
diet: vegan | vegetarian veggie | pescatarian | meat steak beef lamb pork chicken bacon burger | fish salmon tuna |
  keto | paleo | kosher | halal | gluten-free
drink: coffee espresso latte cappuccino | tea chai | milk | water | wine | beer | juice | cocoa | whisky whiskey |
  cola coke soda
transport: car drives driving drive | bus | train rail | bike bicycle cycles cycling cycle | walk walks walking foot
  | tram | metro subway tube underground | ferry boat | plane flight flies | taxi cab | scooter moped | motorcycle
  motorbike
marital: single | engaged fiance fiancee | married husband wife spouse | divorced | widowed widow widower |
  separated
housing: rent rents renting tenant lease | own owns owner bought mortgage | dorm | hotel
home: house | flat apartment condo | cottage | studio | bungalow | townhouse | villa | farm
pet: dog puppy | cat kitten | rabbit | hamster | parrot budgie bird | fish goldfish | horse pony | snake | tortoise
  turtle
child: son boy | daughter girl
language: english | spanish | french | german | italian | portuguese | dutch | polish | russian | arabic | chinese
  mandarin cantonese | japanese | korean | turkish | swedish | norwegian | danish | finnish | greek | hindi | hebrew
  | czech | romanian | ukrainian
side: left | right
direction: north northern | south southern | east eastern | west western
seat: window | aisle | middle
class: economy | business | first-class | premium
place: indoors inside indoor | outdoors outside outdoor
room: kitchen | bedroom | bathroom | garage | basement cellar | attic loft | garden | balcony | hallway | study
work mode: remote remotely home-office | office onsite on-site | hybrid
work time: full-time fulltime | part-time parttime | freelance freelancer self-employed | contractor | intern
  internship | retired | unemployed | student
job: teacher | nurse | doctor physician | engineer | lawyer | accountant | chef cook | designer | developer
  programmer | manager | driver | plumber | electrician | carpenter | journalist | librarian | pilot | dentist |
  baker | farmer | analyst | consultant | paramedic
payment: cash | card visa mastercard | invoice | transfer | cheque check | paypal | debit | credit | bitcoin crypto
channel: email mail e-mail | phone call calls telephone | text sms | whatsapp | slack | teams | signal | telegram |
  letter post | video zoom | chat
device: iphone | android pixel samsung | ipad tablet | laptop macbook | desktop | kindle
system: linux ubuntu debian fedora | windows | macos mac
browser: chrome chromium | firefox | safari | edge | brave | opera
editor: vscode | vim neovim | emacs | intellij | pycharm | sublime | zed | cursor
cloud: aws | azure | gcp | hetzner | heroku | vercel | netlify | fly | digitalocean
database: postgres postgresql | mysql mariadb | sqlite | mongodb mongo | redis | cassandra | dynamodb | oracle |
  clickhouse | cockroachdb | elasticsearch | duckdb | snowflake | bigquery | redshift
queue: kafka | rabbitmq | sqs | nats | pulsar | celery
programming: python | java | javascript | typescript | go golang | rust | ruby | php | kotlin | swift | scala | c++
  cpp | elixir | perl
framework: react | vue | angular | svelte | django | flask | fastapi | rails | spring | express | nextjs | laravel
package manager: npm | yarn | pnpm | pip | poetry | uv | conda | cargo | maven | gradle | bazel | bun
test tool: pytest | unittest | jest | mocha | vitest | junit | cypress | playwright | selenium
ci: jenkins | github-actions | gitlab | circleci | travis | buildkite | argo argocd
format: json | yaml | xml | csv | toml | parquet | protobuf | avro | pdf | html | markdown
protocol: http | https | grpc | graphql | rest | websocket websockets | soap | mqtt | ssh | ftp | sftp
indent: tabs tab | spaces space
case: snake_case | camelcase | kebab-case
environment: staging | production prod | development dev | test sandbox | qa
theme: dark | light
stance: bullish buy overweight long outperform | bearish sell underweight short underperform | neutral hold
trend: rise rises rising rose risen raise raised raises hike hikes hiked increase increased increases up higher grew
  growth grow growing | fall falls falling fell cut cuts lower lowered down decrease decreased drop dropped shrank
  decline declined reduce reduced | flat unchanged steady stable hold held pause paused
rate type: fixed | variable floating adjustable tracker
asset: equities equity stocks stock shares | bonds bond | gilts treasuries | cash | gold | commodities | property |
  crypto
fund: index passive | active
severity: mild minor | moderate | severe major | critical
result: positive | negative | inconclusive
outcome: pass passed passes passing green | fail failed fails failing red broken broke | flaky
decision: approve approved approves accept accepted accepts agreed agree granted confirmed | reject rejected
  declined refused refuse denied disapproved disagree vetoed turned-down | pending undecided
activity: open opened opens | closed closes close shut
switch: on enabled enable active activated | off disabled disable inactive deactivated
mode: manual manually | automatic automatically automated auto
need: required mandatory compulsory obligatory must | optional voluntary
visibility: public | private | internal
amount: none | some | all | full fully | partial partially | half | empty
size: small | medium | large | extra-large
temperature: hot | warm | cool | cold iced
taste: sweet | salty | sour | bitter | spicy hot | mild | plain
smoking: smoker smokes smoking cigarettes | non-smoker nonsmoker smoke-free
alcohol: drinker drinks | sober teetotal abstinent
dominance: left-handed | right-handed | ambidextrous
route: oral orally tablet tablets pill pills | injection injected injections intravenous iv | patch | inhaler
  inhaled | cream ointment topical | drops | spray | liquid syrup
aid: cane stick | walker rollator | wheelchair | crutches | unaided independently
code status: full-code | dnr
residence: home | hospital | hospice | nursing-home care-home
sport: running run runs jogging jogs | swimming swim swims | football soccer | tennis | basketball | golf | yoga |
  pilates | climbing | rowing | boxing | skiing | badminton | cricket | rugby | hockey | volleyball | squash | padel
  | gym weights
instrument: guitar | piano | violin | cello | drums | flute | saxophone | trumpet | ukulele | clarinet | bass
cuisine: italian | thai | indian | chinese | mexican | japanese sushi | greek | french | lebanese | korean |
  vietnamese | ethiopian
city: london | paris | berlin | madrid | rome | lisbon | porto | vienna | munich | hamburg | amsterdam | rotterdam |
  brussels | dublin | edinburgh | glasgow | manchester | leeds | bristol | oslo | stockholm | copenhagen | helsinki
  | warsaw | prague | budapest | athens | istanbul | zurich | geneva | barcelona | valencia | milan | turin | naples
  | lyon | boston | chicago | seattle | denver | austin | dallas | houston | atlanta | miami | toronto | montreal |
  vancouver | sydney | melbourne | tokyo | osaka | seoul | singapore | dubai | delhi | mumbai | bangalore | nairobi
  | lagos | cairo | portland | philadelphia | phoenix | brooklyn | york
country: germany | france | spain | italy | portugal | austria | switzerland | netherlands | belgium | ireland |
  britain england uk | scotland | wales | norway | sweden | denmark | finland | poland | greece | turkey | usa
  america | canada | mexico | brazil | argentina | chile | japan | china | korea | india | australia | egypt | kenya
  | nigeria | ukraine | russia
religion: christian catholic protestant | muslim | jewish | buddhist | hindu | atheist
order: first | second | third | last | final
quality: good great excellent well fine | bad poor badly terrible | better improved improving | worse worsened
  worsening
liking: like likes love loves enjoy enjoys prefer prefers favourite favorite fond keen | dislike dislikes hate hates
  avoid avoids loathes detests
speed: fast quick quickly | slow slowly
strength: strong | weak
price: cheap | expensive pricey | free
company: alone solo | together | partner | group
"""
"""A kind a line (what is set in goes on): its values, each with its words; `-` stands for a hyphen or a space."""
_ENDS = """
stop stops stopped stopping discontinue discontinued discontinuing quit quits quitting cease ceased allergic
allergy intolerant intolerance rash cough hives nausea cancelled canceled cancel cancels closed closes shut
ended ends end expired expires lapsed left leaves leaving sold sells broken broke failed fails rejected
declined banned bans disabled removed deprecated dropped drops lost hates hate dislikes dislike avoids avoid
resigned fired dismissed retired divorced separated died dead deceased unsubscribed unavailable inactive
suspended withdrawn withdrew refused refuses abandoned postponed paused halted halts deleted uninstalled
reverted decommissioned terminated dissolved bankrupt revoked scrapped axed killed archived offline former ex
never no not none without nobody nothing nor neither cannot gone unwell off against worse over vetoed outlawed
forbidden prohibited skip skips skipped returned rescinded void defunct bored
"""
ENDS = frozenset(_ENDS.split())
"""Words of what has ended or is not so; every word in `n't` is one too."""
_HOLDS = """
take takes taking tolerate tolerates tolerated tolerating start starts started starting begin begins began use
uses using used-to enabled active open opens running runs works working employed love loves like likes enjoy
enjoys prefer prefers favourite favorite joined joins approved accepted own owns has have keeps keep available
supports allowed allows subscribed healthy plays play eats eat drinks drink drives drive lives live attends
attend member engaged married together wants want needs need well on wears wear holds hold serves serve
volunteers studies trains coaches leads sings sees goes
"""
HOLDS = frozenset(_HOLDS.split())
"""Words of what goes on."""
_GENERAL = """
user patient client customer person she he they it her his their today said says asked told note from now on
please would like want wants also again after before well new old time last next month week day year only
"""
GENERAL = frozenset(_GENERAL.split())
"""Words that name no subject of their own."""
_WORD = re.compile(r"[^\W_]+(?:[-'’+_][^\W_]+)*\+*")


def plain_words(text: str) -> list[str]:
    """The words of a text in lower case, hyphens and apostrophes kept within."""
    return [word.lower().replace("’", "'") for word in _WORD.findall(text)]


def kinds(words: Sequence[str]) -> dict[str, frozenset[int]]:
    """The kinds that words are values of, each with the numbers of the values."""
    known = _values()
    found: dict[str, set[int]] = {}
    pairs = (f"{one}-{two}" for one, two in pairwise(words))
    parts = (part for word in words if "-" in word for part in word.split("-"))
    for word in (*words, *parts, *pairs):
        for kind, value in known.get(word, ()):
            found.setdefault(kind, set()).add(value)
    return {kind: frozenset(values) for kind, values in found.items()}


def states(words: Sequence[str]) -> tuple[int, int]:
    """How many words say that something goes on, and how many that it has ended or is not so."""
    return sum(word in HOLDS for word in words), sum(word in ENDS or word.endswith("n't") for word in words)


@cache
def no_topic() -> frozenset[str]:
    """Stems of the words that say how something stands rather than what it is about."""
    stem = tokenizer_of("english").terms
    return frozenset(term for word in (*GENERAL, *ENDS, *HOLDS, *_values()) for term in (word, *stem(word)))


@cache
def _values() -> Mapping[str, tuple[tuple[str, int], ...]]:
    """Word to its (kind, number of the value)."""
    found: dict[str, list[tuple[str, int]]] = {}
    for line in _KINDS.replace("\n  ", " ").strip().splitlines():
        kind, _, values = line.partition(": ")
        for number, words in enumerate(values.split(" | ")):
            for word in words.split():
                found.setdefault(word, []).append((kind, number))
    return {word: tuple(places) for word, places in found.items()}
