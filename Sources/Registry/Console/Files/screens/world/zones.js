// Where the time zones' cities are: zone.tab of tzdata, public domain. Written by .ci/zone-places.
//
// The browser knows the names of zones, so the table has three characters for each: how much a hash of its name is
// larger than that of the one before, and the place, in steps of 2.5 degrees from 180° W and 84° N.

const table =
  '9\\n2{.<[,,=//:Q\'B}0R^%Si2GD5@O%%@NQmRu;\'^e(|:9S;$X,%:#<G@0c%$\\Q9vaQ41W6d&L=GLu/`=\'PfA@x3C@7dV@MW36->'
  + ';q4GTBV:+iGRrT:Vo62w%]:2N):<U\'.N*>j*Z)Ekn.S%b5/049%B{7ff$Y)FU1?}\'.@8B]/<jS9f*7X5:<Y,RM0t@5cO6MP)}V;Q'
  + '33:R.LxR;1-MW\'Tw/ez8\\\'=>a$p-?k_4_196(7S;69|ABr>L6=U<6BE$@w*k=&Nn?G|$S*JAG)@w\'.L1;11Ow+TB)5J$:SgW21OB'
  + 'Qmg-?s1sY8lv0gs:@\\S@x0?b;aa(HX,OW1:R<?tAk$$h^Ex9V]4Kb9C[y3\\,/Xm<YL\'?B::^A]3lZ7&1[I@x+lQh?A(U\\&Jm\'AW&'
  + 'T{I$b2@z&%z-%|*S<RC9-gCmQ6XS.\'2:I[u0@wD-5:@N,@z0?bW?}(TV(Y_*ku6b\\(X0-ph.rj,UX*p@&ZjAAW*91*^^%+$>?%\'5'
  + 'UrRL$&s&}9$]-<Q^;q};\\[A}Z*YL$Lq)TFnoU3Y|A?:23WH6dEZ38T{6[t):S;_^BPT4)&7ON4gp(v0G>GODk/:#ISfC:\\0?mh;1'
  + '&X.%YL9$4?{:Ud-(@O*L$%b;/c*>UU<WM-6d)Vm$7M)YG-#j\'<G@QA]XA18(C/\'%XB)XH0\\](tP(Bv,XKaJj,5}\'y0+e{\\A[`VnZ'
  + '64&@Q3BHa8O=a[-f]/-P/Pf$;j&=;%q<KSz6^R%C\'\'mu;O;30+,]l6T5Ck8*L=\'QD:l.\'?(ZwB(jYLm&,@H%\\T(CQ7Se(UZ3[J?T'
  + 'A+@x~GXz%WmB=o=RL,B(2$e~$fY-{#Lz{%61=61$[SN@=;AW1y9\'%x$.MFyB,qZ&{,&Ql4TB;AW%975G|(P*9%<EK%8\\2WUW(*`,'
  + 'dvY@w%-3=Ne&ydMU\\FWnE`j9lP2n{1:ROQD4Dm-vx$_+5_C1?:%?$/bm@gBG4u:{*BAJ7lh(TV$B8(Dt:7J=iw)OB,@=,@2H?~P:'
  + 'S*;2C.n%#s.?/6V;)(z&:S9:](_&5Oz>NZ9T}-]j~<WgG@mK@x8S`jYK9Vs([{$]t\'m`-Vm2uP1?(H5R0Wi$?k&ws$Xy%o\'4BO-x'
  + 'L;YL\'tI*J>-:)-zw\'QlS@PRSbx?r(;=$1_%to&t*.oR{TP&=`.U[4V:9Sf%qa$O;)7{+b87{ZGQ8*sv9N6*Xt~8eAHvf:w4%:ZY;'
  + 's/B&5Zs(/-(u;$2~+@=;?M/vA2k462}5A^WOwH`{<[x$u~$(Q$YK<]pX=-';

const at = (index) => table.charCodeAt(index) - 35;
const places = new Map();
for (let index = 0, hash = 0; index < table.length;) {
  const gap = at(index++);
  hash += gap;
  // The largest gap has no place: it adds to the next one.
  if (gap < 91) places.set(hash, at(index++) * 92 + at(index++));
}

/** The place of a zone in a plane of 1440 by 580, as `[770, 130]`; undefined for a name that is no city. */
export function placeOf(zone) {
  if (!isCity(zone)) return undefined;
  const place = places.get([...zone].reduce((hash, each) => (hash * 73 + each.charCodeAt()) % 8281, 79));
  return place === undefined ? undefined : [Math.floor(place / 58) * 10, (place % 58) * 10];
}

function isCity(zone) {
  try {
    return /^(?!Etc)\w+\//.test(zone) && Boolean(new Intl.DateTimeFormat('en', {timeZone: zone}));
  } catch {
    return false;
  }
}
