import Basics

/// A locale in canonical form: language lower, script Title, region UPPER, variants UPPER, joined by `_`, as in
/// `zh_Hans_CN` and `ca_ES_VALENCIA` (the form of ICU and of Apple's systems; Unicode TR 35, section 3).
///
/// Both `-` and `_` separate subtags. Keywords (`@calendar=…`), extensions (`-u-ca-…`) and a POSIX character set
/// (`.UTF-8`) are dropped. The language has CLDR's canonical code: `iw_IL` is `he_IL`. Java's form `zh_CN_#Hans` is
/// `zh_Hans_CN`. A text that cannot be parsed is kept as sent.
public struct LocaleIdentifier: Hashable, Sendable, CustomStringConvertible {
    public var text: String { exactText.text }
    private let exactText: ExactText
    /// False for a text that is kept as sent: it matches only itself.
    public let isParsed: Bool

    public init(_ sent: String) {
        let canonical = Self.isUsual(sent) ? sent : Self.canonical(sent)
        exactText = ExactText(canonical ?? sent)
        isParsed = canonical != nil
    }

    public var description: String { text }

    /// The locale and all more general ones, the most general first: `zh`, `zh_Hans`, `zh_Hans_CN`. A locale lies in
    /// each of them.
    public var ancestry: [String] {
        guard isParsed else { return [text] }
        let ends = text.indices.filter { text[$0] == "_" } + [text.endIndex]
        return ends.map { String(text[..<$0]) }
    }

    /// The fast path: nearly all devices send a canonical text such as `de_DE` or `zh_Hans_CN`.
    private static func isUsual(_ text: String) -> Bool {
        let hasUsualForm =
            switch text.utf8.count {
            case 5: hasForm(text, "aa_AA")
            case 10: hasForm(text, "aa_Aaaa_AA")
            default: false
            }
        return hasUsualForm && LanguageAliases.replacement(of: text.prefix(2)) == nil
    }

    /// - Parameter form: `a` stands for a lower-case letter, `A` for an upper-case one, `_` for itself.
    private static func hasForm(_ text: String, _ form: StaticString) -> Bool {
        form.withUTF8Buffer { form in
            text.utf8.elementsEqual(form) { byte, expected in
                expected == UInt8(ascii: "_") ? byte == expected : byte &- expected < 26
            }
        }
    }

    /// Nil unless the text is a language, then optionally script, region and variants, in this order.
    private static func canonical(_ sent: String) -> String? {
        guard var rest = subtags(of: sent), let language = rest.popFirst(), isLanguage(language) else { return nil }
        let parts = (LanguageAliases.replacement(of: language) ?? language.lowercased()).split(separator: "-")
        // The language's canonical code may bring a script or region, where the text has none.
        var (script, region) = (parts.first(where: isScript), parts.dropFirst().first(where: isRegion))
        if let sent = rest.first, isScript(sent) { script = rest.removeFirst() }
        if let sent = rest.first, isRegion(sent) { region = rest.removeFirst() }
        guard rest.allSatisfy(isVariant) else { return nil }
        let title = script.map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }
        return ([String(parts[0]), title, region?.uppercased()].compactMap(\.self) + rest.map { $0.uppercased() })
            .joined(separator: "_")
    }

    /// Without keywords, character set and extensions; nil if a subtag is malformed.
    private static func subtags(of sent: String) -> ArraySlice<Substring>? {
        let name = sent.prefix { $0 != "@" && $0 != "." }
        let subtags =
            name.firstIndex(of: "#").map { subtagsOfJava(name[..<$0], name[name.index(after: $0)...]) }
            ?? name.split(omittingEmptySubsequences: false, whereSeparator: isSeparator)
        guard subtags.allSatisfy({ (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy(ASCII.isAlphanumeric) }) else {
            return nil
        }
        // An extension begins with a single character and lasts to the end (RFC 5646, section 2.2.6).
        return subtags.dropFirst().firstIndex { $0.utf8.count == 1 }.map { subtags[..<$0] } ?? subtags[...]
    }

    /// `Locale.toString` of Java: language, country and variant, then `#` and the script and extensions:
    /// `sr_RS_#Latn`, `zh__#Hans`, `en_US_#u-mu-celsius`, `th_TH_TH_#u-nu-thai`. Its variants need not be those of
    /// BCP 47.
    private static func subtagsOfJava(_ places: Substring, _ more: Substring) -> [Substring] {
        var places = places.split(omittingEmptySubsequences: false, whereSeparator: isSeparator)[...]
        let language = places.removeFirst()
        places = places.filter { !$0.isEmpty }[...]
        let region = places.first.flatMap { isRegion($0) ? places.popFirst() : nil }
        let script = more.prefix { !isSeparator($0) }
        return [language] + (isScript(script) ? [script] : []) + (region.map { [$0] } ?? []) + places.filter(isVariant)
    }

    private static func isSeparator(_ character: Character) -> Bool { character == "-" || character == "_" }

    private static func isScript(_ subtag: Substring) -> Bool { subtag.utf8.count == 4 && isLetters(subtag) }

    /// ISO 639: two or three letters. BCP 47 reserves longer ones, so `POSIX` is not a language.
    private static func isLanguage(_ subtag: Substring) -> Bool {
        (2...3).contains(subtag.utf8.count) && isLetters(subtag)
    }

    /// ISO 3166 letters, or a UN M.49 number such as `419`.
    private static func isRegion(_ subtag: Substring) -> Bool {
        subtag.utf8.count == 2 && isLetters(subtag) || subtag.utf8.count == 3 && subtag.utf8.allSatisfy(ASCII.isDigit)
    }

    private static func isVariant(_ subtag: Substring) -> Bool {
        subtag.utf8.count >= 5 || subtag.utf8.count == 4 && subtag.utf8.first.map(ASCII.isDigit) == true
    }

    private static func isLetters(_ subtag: Substring) -> Bool {
        subtag.utf8.allSatisfy(ASCII.isLetter)
    }
}

/// Language codes with another canonical code, by the aliases of CLDR 48 (`languageAlias` in supplementalMetadata.xml).
enum LanguageAliases {
    /// The text with the canonical code of its language: `iw` becomes `he`, and `iw-IL` becomes `he-IL`.
    static func canonical(_ text: String) -> String {
        let code = text.prefix { $0 != "-" && $0 != "_" }
        guard let replacement = replacement(of: code) else { return text }
        return String(replacement.prefix { $0 != "-" } + text[code.endIndex...])
    }

    /// Of a code in any case. It may have a script or region behind the language: `sr-Latn`. Nil if the code is
    /// canonical.
    static func replacement(of code: Substring) -> String? {
        (2...3).contains(code.utf8.count) ? table[code.lowercased()] : nil
    }

    private static let table = Dictionary(
        uniqueKeysWithValues: text.split(whereSeparator: \.isWhitespace).map { pair in
            let parts = pair.split(separator: "=")
            return (String(parts[0]), String(parts[1]))
        })

    private static let text = """
        aam=aas aar=aa abk=ab adp=dz afr=af agp=apf ais=ami ajp=apc ajt=aeb aju=jrb aka=ak alb=sq als=sq amh=am
        ara=ar arb=ar arg=an arm=hy asd=snz asm=as aue=ktz ava=av ave=ae aym=ay ayr=ay ayx=nun aze=az azj=az
        bak=ba bam=bm baq=eu baz=nvo bcc=bal bcl=bik bel=be ben=bn bgm=bcg bhk=fbl bic=bir bih=bho bis=bi bjd=drl
        bjq=bzc bkb=ebk blg=iba bod=bo bos=bs bre=br btb=beb bul=bg bur=my bxk=luy bxr=bua cat=ca ccq=rki ces=cs
        cha=ch che=ce chi=zh chu=cu chv=cv cjr=mom cka=cmr cld=syr cls=sa cmk=xch cmn=zh cnr=sr-ME cor=kw cos=co
        coy=pij cqu=quh cre=cr cwd=cr cym=cy cze=cs daf=dnj dan=da dap=njz dek=sqm deu=de dgo=doi dhd=mwr dik=din
        diq=zza dit=dif div=dv djl=dze dkl=aqd drh=mn drr=kzk drw=fa-AF dud=uth duj=dwu dut=nl dwl=dbt dzo=dz
        ekk=et ell=el elp=amq emk=man eng=en epo=eo esk=ik est=et eus=eu ewe=ee fao=fo fas=fa fat=ak fij=fj fin=fi
        fra=fr fre=fr fry=fy fuc=ff ful=ff gav=dev gaz=om gbc=wny gbo=grb geo=ka ger=de gfx=vaj ggn=gvr ggo=esg
        ggr=gtu gio=aou gla=gd gle=ga glg=gl gli=kzk glv=gv gno=gon gom=kok gre=el grn=gn gti=nyc gug=gn guj=gu
        guv=duz gya=gba hat=ht hau=ha hbs=sr-Latn hdn=hai hea=hmn heb=he her=hz him=srx hin=hi hmo=ho hrr=jal
        hrv=hr hun=hu hye=hy ibi=opa ibo=ig ice=is ido=io iii=ii ike=iu iku=iu ile=ie ill=ilm ilw=gal in=id ina=ia
        ind=id ipk=ik isl=is ita=it iw=he izi=eza jar=jgk jav=jv jaw=jv jeg=oyb ji=yi jpn=ja jw=jv kal=kl kan=kn
        kas=ks kat=ka kau=kr kaz=kk kdv=zkd kgc=tdf kgd=ncq kgh=kml kgm=plu khk=mn khm=km kik=ki kin=rw kir=ky
        kmr=ku knc=kr kng=kg koj=kwv kom=kv kon=kg kor=ko kpp=jkm kpv=kv krm=bmf ktr=dtp kua=kj kur=ku kvs=gdj
        kwq=yam kxe=tvd kxl=kru kzh=dgl kzj=dtp kzt=dtp lak=ksp lao=lo lat=la lav=lv lbk=bnc leg=enl lii=raq
        lim=li lin=ln lit=lt llo=ngt lmm=rmx ltz=lb lub=lu lug=lg lvs=lv mac=mk mah=mh mal=ml mao=mi mar=mr may=ms
        meg=cir mgx=jbk mhr=chm mkd=mk mlg=mg mlt=mt mnt=wnn mo=ro mof=xnt mol=ro mon=mn mri=mi msa=ms mst=mry
        mup=raj mwd=dmw mwj=vaj mya=my myd=aog myt=mry nad=xny nau=na nav=nv nbf=nru nbl=nr nbx=gll ncp=kdz nde=nd
        ndo=ng nep=ne nld=nl nln=azd nlr=nrk nno=nn nns=nbr nnx=ngv nob=nb nom=cbr noo=dtd nor=no npi=ne nte=eko
        nts=pij nxu=bpp nya=ny oci=oc ojg=oj oji=oj ori=or orm=om ory=or oss=os oun=vaj pan=pa pat=kxr pbu=ps
        pcr=adx per=fa pes=fa pli=pi plt=mg pmc=huw pmk=crr pmu=phr pnb=lah pol=pl por=pt ppa=bfy ppr=lcq prp=gu
        prs=fa-AF pry=prt pus=ps puz=pub que=qu quz=qu rmr=emx rmy=rom roh=rm ron=ro rum=ro run=rn rus=ru sag=sg
        san=sa sap=aqt sca=hle scc=sr scr=hr sgl=isk sh=sr-Latn sin=si skk=oyb slk=sk slo=sk slv=sl smd=kmb sme=se
        smo=sm sna=sn snb=iba snd=sd som=so sot=st spa=es spy=kln sqi=sq src=sc srd=sc srp=sr ssw=ss sul=sgd
        sum=ulw sun=su swa=sw swc=sw-CD swe=sv swh=sw szd=umi tah=ty tam=ta tat=tt tdu=dtp tel=te tgg=bjp tgk=tg
        tgl=fil tha=th thc=tpo thw=ola thx=oyb tib=bo tid=itd tie=ras tir=ti tkk=twm tl=fil tlw=weo tmk=tdg
        tmp=tyj tne=kak tnf=fa-AF ton=to tpw=tpn tsf=taj tsn=tn tso=ts ttq=tmh tuk=tk tur=tr twi=ak uig=ug ukr=uk
        umu=del unp=wro uok=ema urd=ur uzb=uz uzn=uz ven=ve vie=vi vol=vo wel=cy wgw=wgb wit=nol wiw=nwo wln=wa
        wol=wo xba=cax xho=xh xia=acn xkh=waw xpe=kpe xrq=dmw xsj=suj xsl=den xss=zko ybd=rki ydd=yi yen=ynq
        yid=yi yiy=yrm yma=lrr ymt=mtm yor=yo yos=zom yuu=yug zai=zap zha=za zho=zh zir=scv zkb=kjh zsm=ms zul=zu
        zyb=za
        """
}
